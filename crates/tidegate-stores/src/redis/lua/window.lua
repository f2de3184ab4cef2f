-- Window: `full` units in any span of length `per`. It is kept as a ring of the times of up to 64
-- units, or as a grid of 61 sub-counts; the numbers choose, and either is read as the other.
-- State of a ring: r1, how many, its expiry in ms, the times. Of a grid: g1, the length it was
-- written under, the newest time, the end of a backoff, its expiry in ms, slot `k` at `k mod 61`.
--# read
local v$ = pcall('GET', keys[$])
if not (cost$ >= 1 and cost$ <= MAX and full$ >= 1 and full$ <= 2147483647 and per$ >= 1
  and per$ <= LONGEST) then @numbers end
-- Charges: times, oldest first, with the units at each; or the slots of a grid, where they are kept
-- as they are wanted.
local times$, units$, slots$, last$, pause$, keeps$, kept$ = {}, {}, nil, 0, 0, 0, false
if v$ then
  local tag, count = 0, 0
  if #v$ >= 11 and #v$ <= 523 then tag, count = unpack('<HB', v$) end
  if tag == 12658 and #v$ == 11 + 8 * count then
    keeps$ = unpack('<I8', v$, 4)
    if not (keeps$ <= MAX) then @corrupt end
    for k = 1, count do
      local moment = unpack('<I8', v$, 4 + 8 * k)
      if not (moment >= last$ and moment <= MAX) then @corrupt end
      times$[k], units$[k], last$ = moment, 1, moment
    end
    kept$ = 'ring'
  elseif tag == 12647 and #v$ == 278 then
    slots$ = {unpack(GRID, v$)}
    local per = slots$[2]
    last$, pause$, keeps$ = slots$[3], slots$[4], slots$[5]
    if not (per >= 1 and per <= LONGEST and last$ <= MAX and pause$ <= MAX and keeps$ <= MAX) then
      @corrupt
    end
    local sum = 0
    for k = 6, 66 do sum = sum + slots$[k] end
    if sum > 4294967295 then @corrupt end
    kept$ = 'grid'
    if ring$ or per ~= per$ then
      -- Only the slot of a charge is known: it is taken to be as late as it can be.
      local current = last$ % per
      local part = 60 * current / per
      current = 60 * ((last$ - current) / per) + (part - part % 1)
      local n = 0
      for slot = current > 60 and current - 60 or 0, current do
        if slots$[6 + slot % 61] > 0 then
          local sixtieths = (slot + 1) % 60
          local moment = sixtieths * per / 60
          moment = (slot + 1 - sixtieths) / 60 * per + (moment + -moment % 1) - 1
          n = n + 1
          times$[n], units$[n] = moment < last$ and moment or last$, slots$[6 + slot % 61]
        end
      end
      slots$ = nil
    end
  else
    @other window
  end
end
--# read ring
-- One time for each unit, the newest 64.
local list$, from$, len$, now$ = {}, 1, 0, clock
for k = 1, #times$ do
  for _ = 1, units$[k] < 64 and units$[k] or 64 do
    len$ = len$ + 1
    list$[len$] = times$[k]
  end
end
if len$ > 64 then from$ = len$ - 63 end
if len$ > 0 and clock < list$[len$] then now$ = list$[len$] end
local newest$ = list$[len$] or 0
--# room ring
local live$ = from$
while live$ <= len$ and now$ - list$[live$] >= per$ do live$ = live$ + 1 end
local room$ = cost$ <= full$ and len$ - live$ + 1 + cost$ <= full$
--# take ring
from$ = live$
for _ = 1, cost$ < 64 and cost$ or 64 do
  len$ = len$ + 1
  list$[len$] = now$
end
if len$ - from$ > 63 then from$ = len$ - 63 end
newest$ = now$
--# back ring
if (clock > taken and clock - taken or 0) < per$ then
  local left, rest, n = cost$, {}, 0
  for k = from$, len$ do
    if list$[k] >= taken and left > 0 then
      left = left - 1
    else
      n = n + 1
      rest[n] = list$[k]
    end
  end
  list$, from$, len$ = rest, 1, n
end
--# write ring
local fresh = newest$ + per$
fresh = (fresh > MAX and MAX or fresh) / 1000
fresh = fresh + -fresh % 1
local stays = kept$ == 'ring' and fresh <= keeps$
if not stays then
  local slack = (per$ > SLACK and SLACK or per$) / 1000
  keeps$ = fresh + (slack + -slack % 1)
end
local parts = {pack('<HBI8', 12658, len$ - from$ + 1, keeps$)}
for k = from$, len$ do parts[#parts + 1] = pack('<I8', list$[k]) end
parts = table.concat(parts)
if stays then
  call('SET', keys[$], parts, 'KEEPTTL')
else
  call('SET', keys[$], parts, 'PXAT', string.format('%d', keeps$))
end
--# read grid
-- The slot of a time is the floor of 60 · time / per, taken apart so that it stays exact.
local rest$ = last$ % per$
local slot$ = 60 * rest$ / per$
slot$ = 60 * ((last$ - rest$) / per$) + (slot$ - slot$ % 1)
if not slots$ then
  slots$ = {12647, per$, last$, pause$, keeps$}
  for k = 6, 66 do slots$[k] = 0 end
  for k = 1, #times$ do
    local rest = times$[k] % per$
    local slot = 60 * rest / per$
    slot = 60 * ((times$[k] - rest) / per$) + (slot - slot % 1)
    if slot >= slot$ - 60 then
      local place = 6 + slot % 61
      slots$[place] = slots$[place] + units$[k]
      if slots$[place] > 4294967295 then slots$[place] = 4294967295 end
    end
  end
end
--# room grid
-- Moves on to now: slots that have left are emptied.
local now$ = clock < last$ and last$ or clock
rest$ = now$ % per$
local current$ = 60 * rest$ / per$
current$ = 60 * ((now$ - rest$) / per$) + (current$ - current$ % 1)
for slot = slot$ + 1, current$ < slot$ + 61 and current$ or slot$ + 61 do
  slots$[6 + slot % 61] = 0
end
last$, slot$ = now$, current$
local live$ = 0
for k = 6, 66 do live$ = live$ + slots$[k] end
local room$ = cost$ <= full$ and live$ + cost$ <= full$ and pause$ <= last$
--# take grid
local more = full$ + OVER - live$
if more > cost$ then more = cost$ end
if more > 0 then
  local place = 6 + slot$ % 61
  slots$[place] = slots$[place] + more
  if slots$[place] > 4294967295 then slots$[place] = 4294967295 end
end
--# take backoff
live$ = 0
for k = 6, 66 do live$ = live$ + slots$[k] end
local over = live$ - full$
if over > 0 then
  -- The delay of the table, at most until all of it has left.
  local delay = unpack('<I8', rows$, 8 * (over < 32 and over or 32) - 7)
  local gone = slot$
  while gone > 0 and gone > slot$ - 60 and slots$[6 + gone % 61] == 0 do gone = gone - 1 end
  gone = gone + 61
  local sixtieths = gone % 60
  local fresh = sixtieths * per$ / 60
  fresh = (gone - sixtieths) / 60 * per$ + (fresh + -fresh % 1)
  if fresh > MAX then fresh = MAX end
  if fresh < pause$ then fresh = pause$ end
  if delay > fresh - last$ then delay = fresh - last$ end
  if delay > 0 then
    -- No shorter than until there is room again.
    local wait = delay
    if cost$ <= full$ then
      local leaving, slot, free = live$ + cost$ - full$, slot$ > 60 and slot$ - 60 or 0, pause$
      while leaving > 0 and slot <= slot$ do
        sixtieths = (slot + 61) % 60
        local leaves = sixtieths * per$ / 60
        leaves = (slot + 61 - sixtieths) / 60 * per$ + (leaves + -leaves % 1)
        if leaves > MAX then leaves = MAX end
        if leaves > free then free = leaves end
        leaving = leaving - slots$[6 + slot % 61]
        slot = slot + 1
      end
      if free < last$ + 1 then free = last$ + 1 end
      if free - last$ > wait then wait = free - last$ end
    end
    local ends = last$ + wait
    if ends > MAX then ends = MAX end
    if ends > pause$ then pause$ = ends end
  end
end
--# back grid
if kept$ and (clock > taken and clock - taken or 0) < per$ then
  local rest = taken % per$
  local slot = 60 * rest / per$
  slot = 60 * ((taken - rest) / per$) + (slot - slot % 1)
  if slot < slot$ - 60 then slot = slot$ - 60 end
  local left = cost$ > 4294967295 and 4294967295 or cost$
  for k = slot > 0 and slot or 0, slot$ do
    local place = 6 + k % 61
    local less = left < slots$[place] and left or slots$[place]
    slots$[place], left = slots$[place] - less, left - less
  end
end
--# write grid
-- Kept until what is in its newest slot, or the backoff, has passed.
local gone = slot$ + 61
local sixtieths = gone % 60
local fresh = sixtieths * per$ / 60
fresh = (gone - sixtieths) / 60 * per$ + (fresh + -fresh % 1)
if fresh < pause$ then fresh = pause$ end
fresh = (fresh > MAX and MAX or fresh) / 1000
fresh = fresh + -fresh % 1
local stays = kept$ == 'grid' and fresh <= keeps$
if not stays then
  local slack = (per$ > SLACK and SLACK or per$) / 1000
  keeps$ = fresh + (slack + -slack % 1)
end
slots$[1], slots$[2], slots$[3], slots$[4], slots$[5] = 12647, per$, last$, pause$, keeps$
local value = pack(GRID, spread(slots$, 1, 66))
if stays then
  call('SET', keys[$], value, 'KEEPTTL')
else
  call('SET', keys[$], value, 'PXAT', string.format('%d', keeps$))
end
