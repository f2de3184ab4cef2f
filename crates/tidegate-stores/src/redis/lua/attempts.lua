-- Attempts: `full` of them pass in any span of length `per`, and one more begins a block. With a long
-- window, `fulls` in `pers` too. Attempts of one `member` count once, the newest of them.
-- State: a1, its expiry in ms, the end of the block, the limit, what the block came from and its level
-- (zeros: none), how many attempts, whether members follow; the times, oldest first; the members.
--
-- However long the log, only one time in it matters for each window: when the attempt was made that has
-- to leave before one more stays below. So nothing here goes through the log but what gives back. The
-- server hashes every byte of every string that a script makes, so few are made.
--# read
local v$ = pcall('GET', keys[$])
--# numbers window
if not (full$ >= 1 and full$ <= 99 and per$ >= 1 and per$ <= LONGEST) then @numbers end
--# state
local now$, newest$, keeps$, ends$, scope$, level$, count$, pairs$ = clock, 0, 0, 0, 0, 0, 0, 0
if v$ then
  -- The limit is for whoever lists blocks.
  local tag, limit = 0
  if #v$ >= 30 then
    tag, keeps$, ends$, limit, scope$, level$, count$, pairs$ = unpack('<HLLLBBBB', v$)
  end
  if tag == 12641 then
    if not (keeps$ <= MAX and ends$ <= MAX and scope$ <= 3 and level$ <= 6 and count$ <= 100
      and pairs$ <= 1 and #v$ == 30 + 8 * count$ * (1 + pairs$)
      and (scope$ > 0 or ends$ + level$ == 0))
    then
      @corrupt
    end
    if count$ > 0 then
      newest$ = unpack('<L', v$, 23 + 8 * count$)
      if not (newest$ <= MAX) then @corrupt end
      if clock < newest$ then now$ = newest$ end
    end
  else
    @other attempts
    keeps$, ends$, scope$, level$, count$, pairs$ = 0, 0, 0, 0, 0, 0
  end
end
--# numbers fixed
if not (block$ >= 1 and block$ <= LONGEST) then @numbers end
--# numbers long
if not (fulls$ >= 1 and fulls$ <= 99 and pers$ >= 1 and pers$ <= LONGEST and blocks$ >= 1
  and blocks$ <= LONGEST) then @numbers end
--# numbers ladder
if not (from$ >= 1 and from$ <= to$ and to$ <= 6 and decay$ >= 1 and decay$ <= LONGEST) then
  @numbers
end
--# held
-- What is reached is told as the block would be: 1 by the short window, 2 by the long one.
local held$ = scope$ > 0 and (now$ < ends$ or ends$ == MAX)
local reach$, mine$ = 0, 0
--# mine
-- The place of the member, at a multiple of eight bytes; anything else only looks like it.
if pairs$ == 1 then
  local from = 31 + 8 * count$
  local place = string.find(v$, member$, from, true)
  while place do
    if (place - from) % 8 == 0 then
      if mine$ > 0 then @corrupt end
      mine$ = (place - from) / 8 + 1
    end
    place = string.find(v$, member$, place + 1, true)
  end
end
--# reach
-- And in the same way by the long window, with its own numbers (form/attempts.rs).
do
  local place = count$ - full$ + 1
  if mine$ >= place then place = place - 1 end
  if place >= 1 then
    local leaver = unpack('<L', v$, 23 + 8 * place)
    if not (leaver <= newest$) then @corrupt end
    if now$ - leaver < per$ then reach$ = 1 end
  end
end
--# room
local room$ = not held$ and reach$ == 0
--# bounds
local most, span, log = full$, per$, ''
--# begin
if reach$ == 1 and not held$ then
  ends$, scope$, level$ = now$ + block$, 1, 0
  if ends$ > MAX then ends$ = MAX end
end
--# begin long
-- A block that holds is made longer once, and never shortened.
if reach$ == 2 and not (held$ and scope$ == 2) then
  local ends = now$ + blocks$
  if ends > MAX then ends = MAX end
  if not held$ or ends$ < ends then ends$, scope$, level$ = ends, 2, 0 end
end
--# climb
-- One level higher than the last, of which each `decay` since its end has taken one off.
local level = 0
if level$ > 0 then
  local off = (now$ - ends$) / decay$
  level = level$ - (off - off % 1)
  if not (level > 0) then level = 0 end
end
level = level + 1
if level < from$ then level = from$ end
if level > to$ then level = to$ end
ends$, scope$, level$ = now$ + unpack('<L', lasts$, 8 * level - 7), 1, level
if not (ends$ <= MAX) then ends$ = MAX end
newest$, count$, pairs$ = 0, 0, 0
--# push
do
  local excess, past = count$ > most and count$ - most or 0, 31 + 8 * count$
  if count$ == 0 then
    log = pack('<L', now$)
  elseif pairs$ == 0 then
    log = string.sub(v$, 31 + 8 * excess) .. pack('<L', now$)
  else
    log = string.sub(v$, 31 + 8 * excess, past - 1) .. pack('<L', now$)
      .. string.sub(v$, past + 8 * excess) .. '\0\0\0\0\0\0\0\0'
  end
  newest$, count$ = now$, count$ - excess + 1
end
--# push member
do
  local times, members, size = '', '', 8 * count$
  if size > 0 then
    times = string.sub(v$, 31, 30 + size)
    members = pairs$ == 1 and string.sub(v$, 31 + size) or string.rep('\0', size)
  end
  if mine$ > 0 then
    local before, after = 8 * mine$ - 8, 8 * mine$ + 1
    times = string.sub(times, 1, before) .. string.sub(times, after)
    members = string.sub(members, 1, before) .. string.sub(members, after)
    count$ = count$ - 1
  end
  local excess = count$ > most and count$ - most or 0
  log = string.sub(times, 8 * excess + 1) .. pack('<L', now$)
    .. string.sub(members, 8 * excess + 1) .. member$
  newest$, count$, pairs$ = now$, count$ - excess + 1, 1
end
--# find
-- The first attempt that was made then or later.
local place$ = 0
do
  local last = 0
  for k = 1, count$ do
    local moment = unpack('<L', v$, 23 + 8 * k)
    if not (moment >= last and moment <= MAX) then @corrupt end
    if place$ == 0 and moment >= taken then place$ = k end
    last = moment
  end
end
--# own
local mine$, place$ = 0, 0
--# find member
-- The attempt of the member itself, unless it was an earlier one.
if mine$ > 0 then
  local moment = unpack('<L', v$, 23 + 8 * mine$)
  if not (moment <= newest$) then @corrupt end
  if moment >= taken then place$ = mine$ end
end
--# back
-- What has left the window is not given back: what is found there later is somebody else's.
local kept$ = v$
if place$ > 0 and now$ - taken < span then
  local cut, past = 8 * place$, 31 + 8 * count$
  log = string.sub(v$, 31, 22 + cut) .. string.sub(v$, 31 + cut, past + cut - 9)
  if pairs$ == 1 then log = log .. string.sub(v$, past + cut) end
  count$ = count$ - 1
  newest$ = count$ > 0 and unpack('<L', log, 8 * count$ - 7) or 0
  if count$ == 0 then pairs$ = 0 end
elseif v$ then
  log = string.sub(v$, 31)
end
--# forgive
local kept$ = v$
newest$, count$, pairs$ = 0, 0, 0
--# forgets
local fresh = ends$
--# forgets ladder
-- The next block is higher for this one until so many levels have been taken off.
local fresh = level$ > 0 and level$ + 1 - from$ or 0
fresh = ends$ + (fresh > 0 and fresh * decay$ or 0)
--# write
if count$ > 0 and newest$ + span > fresh then fresh = newest$ + span end
fresh = (fresh > MAX and MAX or fresh) / 1000
fresh = fresh + -fresh % 1
if v$ and fresh <= keeps$ then
  call('SET', keys[$], pack('<HLLc8BBBB', 12641, keeps$, ends$, id$, scope$, level$, count$,
    pairs$) .. log, 'KEEPTTL')
else
  local slack = (span > SLACK and SLACK or span) / 1000
  fresh = fresh + (slack + -slack % 1)
  -- What expires in this millisecond, some servers delete at once.
  if fresh * 1000 <= clock then fresh = (clock - clock % 1000) / 1000 + 1 end
  call('SET', keys[$], pack('<HLLc8BBBB', 12641, fresh, ends$, id$, scope$, level$, count$,
    pairs$) .. log, 'PXAT', string.format('%d', fresh))
end
