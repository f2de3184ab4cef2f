-- The check value of the fleet's secret: kept for ten minutes more by whoever has the same one, and by
-- the first who comes where there is none.
local nonce, own = string.sub(ARGV[1], 1, 4), string.sub(ARGV[1], 5)
local found = redis.call('GET', KEYS[1])
if not found or found == own then
  found = own
  redis.call('SET', KEYS[1], own, 'PX', 600000)
end
return nonce .. found
