-- One step of one node about one breaker, by the rule of the core (`agree`). Everything is read and
-- checked before the first write. The answer is the record that was found and the one that the step
-- leaves, so that the core can compare.
--
-- KEYS[1] is a hash: the record of each name, and under `{}`, which is no name, the sequence of changes:
-- s1, its life, and the number of the last change. KEYS[2] is a sorted set: each name with the number of
-- its last change; and for each record that says "closed" a `{` with the name, and that number less 2^53.
-- So the closed ones stand before all others, the oldest first. A number is never less than the
-- microsecond of its change: a fleet that was restored from an old copy gives none of them twice.
local MAX, FAR, KEPT = 9007199254740991, 9007199254740992, 3600000000
local keys, call, pcall, unpack, pack = KEYS, redis.call, redis.pcall, struct.unpack, struct.pack
local NOBODY = string.rep('\0', 16)
local nonce, motion, seen, holder, lease, window, outcome, wanted, places =
  unpack('<c4c1Lc16LLc1LL', ARGV[1])
local name = string.sub(ARGV[1], 63)
if not (seen <= MAX and lease <= MAX and window <= MAX) then
  return redis.error_reply('TIDEGATE the step has a number that cannot be counted with')
end
local time = call('TIME')
local now = time[1] * 1000000 + time[2]

local found = pcall('HMGET', keys[1], name, '{}')
if found.err then
  return string.find(found.err, 'WRONGTYPE', 1, true) and nonce .. 'w' or found
end
local old = pcall('ZRANGE', keys[2], '-inf', string.format('%d', now - KEPT - FAR), 'BYSCORE',
  'LIMIT', '0', '2')
if old.err then return string.find(old.err, 'WRONGTYPE', 1, true) and nonce .. 'w' or old end
local count = call('HLEN', keys[1])
local bytes, sequence = found[1], found[2]
for place = 1, #old do
  old[place] = string.sub(old[place], 2)
  if old[place] == name then bytes = false end
end

-- The record: its state, its generation, until when it is open, successes, the holder of the lease and
-- until when the lease is valid.
local state, gen, open, wins, who, held = 'c', 0, 0, 0, NOBODY, 0
local verdict = 'k'
if bytes then
  local tag = 0
  if #bytes == 51 then tag, state, gen, open, wins, who, held = unpack('<Hc1LLLc16L', bytes) end
  local plain = who == NOBODY and held == 0
  if not (tag == 12646 and gen <= MAX and open <= MAX and wins <= 4294967295 and held <= MAX
    and ((state == 'c' or state == 'O' or state == 'C') and plain and open == 0 and wins == 0
      or state == 'o' and plain and wins == 0
      or state == 'h' and plain and open == 0
      or state == 'l' and open == 0))
  then
    -- Only an operator replaces what is no record; and not what a later version has written.
    if string.find(bytes, '^f[2-9]') or not (motion == 'O' or motion == 'C') then
      return nonce .. 'b' .. string.sub(bytes, 1, 52)
    end
    verdict, state, gen, open, wins, who, held = 'r', 'c', 0, 0, 0, NOBODY, 0
  end
end

local function after(span)
  return now + span < MAX and now + span or MAX
end
local lost, tries = gen < seen, state == 'h' or state == 'l'
local is_held = state == 'l' and now < held
local is_over = not is_held and (tries or state == 'c' or state == 'o' and open <= now)
-- What the step wants; nothing, if `to` stays nil.
local to, to_open, to_wins, to_who, to_held = nil, 0, 0, NOBODY, 0
local writes = false
if gen > seen then
  -- The sender has something to hear first.
elseif motion == 't' then
  if is_over then to, to_open = 'o', after(window) end
elseif motion == 'a' then
  if state == 'o' and now < open then
    if open > after(window) then open, writes = after(window), true end
  elseif is_held then
    if held > after(lease) then held, writes = after(lease), true end
  elseif is_over then
    to, to_wins, to_who, to_held = 'l', tries and wins or 0, holder, after(lease)
  end
elseif motion == 'r' then
  if is_held and who == holder and not lost then
    local more = wins < 4294967295 and wins + 1 or wins
    if outcome == 'f' then to, to_open = 'o', after(window)
    elseif outcome == 'n' then to, to_wins = 'h', wins
    elseif more < wanted then to, to_wins = 'h', more
    else to = 'c' end
  end
elseif motion == 'O' or motion == 'C' then
  to = motion
elseif motion == 'u' then
  if state == 'C' then to = 'c' elseif state == 'O' or lost then to = 'h' end
end
if to and (lost or to ~= state or to_open ~= open or to_wins ~= wins or to_who ~= who
  or to_held ~= held)
then
  writes, state, open, wins, who, held = true, to, to_open, to_wins, to_who, to_held
  gen = (gen > seen and gen or seen) + 1
  if gen < now then gen = now end
  if gen > MAX then gen = MAX end
end

local is_full = writes and not bytes and count - #old > places
for place = 1, #old do
  call('ZREM', keys[2], old[place], '{' .. old[place])
  call('HDEL', keys[1], old[place])
end
if is_full then return nonce .. 'x' end
local record = pack('<Hc1LLLc16L', 12646, state, gen, open, wins, who, held)
if writes then
  local tag, life, change = 0, now, 0
  if sequence and #sequence == 18 then tag, life, change = unpack('<HLL', sequence) end
  if not (tag == 12659 and life >= 1 and life <= MAX and change < MAX) then
    life, change = now, 0
  end
  change = change < now and now or change + 1
  call('ZADD', keys[2], string.format('%d', change), name)
  if state == 'c' then
    call('ZADD', keys[2], string.format('%d', change - FAR), '{' .. name)
  else
    call('ZREM', keys[2], '{' .. name)
  end
  call('HSET', keys[1], name, record, '{}', pack('<HLL', 12659, life, change))
  -- Once all are closed, all can be forgotten together.
  local ends = (now + KEPT) / 1000
  ends = string.format('%d', ends - ends % 1 + 1)
  local is_calm = call('ZCARD', keys[2]) == 2 * (call('HLEN', keys[1]) - 1)
  for place = 1, 2 do
    if is_calm then call('PEXPIREAT', keys[place], ends) else call('PERSIST', keys[place]) end
  end
end
return nonce .. verdict .. pack('<L', now) .. record .. string.sub(bytes or '', 1, 52)
