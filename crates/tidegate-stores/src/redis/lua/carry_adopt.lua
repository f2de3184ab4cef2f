-- Keeps a state under a new name, if nothing is there and nothing ever was: a mark lives as long as
-- the state, so what has been reset or has expired meanwhile does not come back.
local nonce, expiry = struct.unpack('<c4L', ARGV[1])
local time = redis.call('TIME')
if not (expiry > time[1] * 1000 + time[2] / 1000) then return nonce .. 'late' end
local at = string.format('%d', expiry)
if not redis.call('SET', KEYS[2], '1', 'NX', 'PXAT', at) then return nonce .. 'before' end
redis.call('SET', KEYS[1], string.sub(ARGV[1], 13), 'NX', 'PXAT', at)
return nonce .. 'carried'
