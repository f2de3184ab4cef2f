-- The script that seed 002 describes, as somebody writes it who follows it step by step; Tidegate's
-- abuse logs are measured against it. KEYS: attempts, block, sequence. ARGV: window, threshold and
-- block of the short one, the same of the long one, the time to live; all times in seconds.
-- seed 002: sliding log abuse limiter, exactly the 11 steps
local ak, bk, sk = KEYS[1], KEYS[2], KEYS[3]
local tw, tt, tb, lw, lt, lb, ttl0 = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local now = tonumber(redis.call('TIME')[1])
redis.call('ZREMRANGEBYSCORE', ak, '-inf', now - math.max(tw, lw))
local seq = redis.call('INCR', sk)
redis.call('ZADD', ak, now, string.format('%d:%d', now, seq))
redis.call('EXPIRE', ak, ttl0)
local sc = redis.call('ZCOUNT', ak, now - tw, now)
local lc = redis.call('ZCOUNT', ak, now - lw, now)
if sc >= tt then redis.call('SET', bk, '1', 'EX', tb, 'NX'); local ttl = redis.call('TTL', bk); return {0, math.max(ttl, 0), sc, lc, 'temp'}
elseif lc >= lt then redis.call('SET', bk, '1', 'EX', lb, 'NX'); local ttl = redis.call('TTL', bk); return {0, math.max(ttl, 0), sc, lc, 'long'} end
return {1, 0, sc, lc, 'none'}
