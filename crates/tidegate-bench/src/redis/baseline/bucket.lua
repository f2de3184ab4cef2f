-- One of the single-purpose scripts that Tidegate is measured against: what somebody writes who has
-- this one policy and no other. After the usual GCRA script (a time of arrival per key, as redis-cell
-- and its followers keep it), with the clock of the server.
-- KEYS[1]; ARGV: emission_us, burst, cost. Redis TIME. returns {allowed, remaining, retry_us, reset_us}
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local em = tonumber(ARGV[1]); local tol = em * tonumber(ARGV[2]); local inc = em * tonumber(ARGV[3])
local tat = tonumber(redis.call('GET', KEYS[1]) or now)
if tat < now then tat = now end
local new = tat + inc
local diff = now - (new - tol)
if diff < 0 then return {0, 0, -diff, tat - now} end
redis.call('SET', KEYS[1], string.format('%.0f', new), 'PX', math.ceil((new - now) / 1000))
return {1, math.floor(diff / em), 0, new - now}
