-- What is kept under these names: for each its expiry in ms (0: nothing), its length, and itself.
local answer, time = ARGV[1], redis.call('TIME')
for place, key in ipairs(KEYS) do
  local left, kept = redis.call('PTTL', key), redis.pcall('GET', key)
  if type(kept) == 'table' and not string.find(kept.err, 'WRONGTYPE', 1, true) then return kept end
  -- Nothing of ours is of another type, or for ever.
  if type(kept) == 'table' or left == -1 then return ARGV[1] .. 'corrupt ' .. place .. ' ' end
  if not kept or left < 0 then left, kept = false, '' end
  local expiry = left and time[1] * 1000 + (time[2] - time[2] % 1000) / 1000 + left or 0
  answer = answer .. struct.pack('<LI4', expiry, #kept) .. kept
end
return answer
