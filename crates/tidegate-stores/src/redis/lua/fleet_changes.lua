-- The records that have changed since a cursor, in the order of their changes. The keys are those of
-- fleet_agree.lua. The answer is the time, the life of the sequence, and for each name the number of its
-- last change, the name and the record.
local MAX = 9007199254740991
local spread = unpack
local keys, pcall, unpack, pack = KEYS, redis.pcall, struct.unpack, struct.pack
local nonce, life, change, most = unpack('<c4LLL', ARGV[1])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local found = pcall('HMGET', keys[1], '{}')
if found.err then
  return string.find(found.err, 'WRONGTYPE', 1, true) and nonce .. 'w' or found
end
local sequence, tag, own, last = found[1], 0, 0, 0
if sequence and #sequence == 18 then tag, own, last = unpack('<HLL', sequence) end
if not (tag == 12659 and own <= MAX and last <= MAX) then own, last = 0, 0 end
-- A cursor of another life, or from a later time than this copy of the fleet, is none.
if own == 0 or own ~= life or not (change <= last) then change = 0 end
local list = pcall('ZRANGE', keys[2], '(' .. string.format('%d', change), '+inf', 'BYSCORE',
  'LIMIT', '0', string.format('%d', most + 1), 'WITHSCORES')
if list.err then return string.find(list.err, 'WRONGTYPE', 1, true) and nonce .. 'w' or list end
local names = {}
for place = 1, #list / 2 do
  if place <= most then names[place] = list[2 * place - 1] end
end
local answer = { nonce, 'k', pack('<LLLB', now, own, change, #list / 2 > most and 1 or 0) }
if #names > 0 then
  local records = pcall('HMGET', keys[1], spread(names))
  if records.err then return records end
  for place = 1, #names do
    local record = records[place] or ''
    -- What is too long to be a record is told as far as one goes.
    record = string.sub(record, 1, 52)
    answer[#answer + 1] = pack('<LBB', list[2 * place] + 0, #names[place], #record)
    answer[#answer + 1] = names[place]
    answer[#answer + 1] = record
  end
end
return table.concat(answer)
