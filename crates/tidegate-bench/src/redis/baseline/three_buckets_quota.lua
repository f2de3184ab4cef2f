-- One of the single-purpose scripts that Tidegate is measured against: what somebody writes who has
-- this one policy and no other. After the usual GCRA script (a time of arrival per key, as redis-cell
-- and its followers keep it), with the clock of the server.
-- org + user + token: each GCRA burst, plus a fixed-window quota per org. All-or-nothing. KEYS[1..3] tat, KEYS[4] quota
-- ARGV: em1,burst1,em2,burst2,em3,burst3, quota_limit, quota_ttl, cost
local t = redis.call('TIME'); local now = t[1] * 1000000 + t[2]
local cost = tonumber(ARGV[9])
local v = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3], KEYS[4])
local q = tonumber(v[4]) or 0
if q + cost > tonumber(ARGV[7]) then return {0, 4, -1, 0} end
local news = {}
local minrem = 1e18
for i = 1, 3 do
  local em = tonumber(ARGV[i * 2 - 1]); local tol = em * tonumber(ARGV[i * 2])
  local tat = tonumber(v[i]) or now; if tat < now then tat = now end
  local new = tat + em * cost; local diff = now - (new - tol)
  if diff < 0 then return {0, i, -diff, 0} end
  local rem = math.floor(diff / em); if rem < minrem then minrem = rem end
  news[i] = new
end
for i = 1, 3 do redis.call('SET', KEYS[i], string.format('%.0f', news[i]), 'PX', math.ceil((news[i] - now) / 1000)) end
if redis.call('INCRBY', KEYS[4], cost) == cost then redis.call('EXPIRE', KEYS[4], ARGV[8]) end
return {1, 0, 0, minrem}
