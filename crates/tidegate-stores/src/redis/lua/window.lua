-- Window: `full` units in any span of length `per`. It is kept as a ring of the times of up to 64
-- units, or as a grid of 61 sub-counts; the numbers choose, and either is read as the other.
-- State of a ring: r1, how many, its expiry in ms, the times. Of a grid: g1, the length it was
-- written under, the newest time, the end of a backoff, its expiry in ms, slot `k` at `k mod 61`.
--# read
local v$ = pcall('GET', keys[$])
if not (cost$ >= 1 and cost$ <= MAX and full$ >= 1 and full$ <= 2147483647 and per$ >= 1
  and per$ <= LONGEST) then @numbers end
local slots$, last$, pause$, keeps$, kept$ = nil, 0, 0, 0, false
--# read charges
-- Charges: times, oldest first, with the units at each; or the slots of a grid, where they are kept
-- as they are wanted. A script has room for 200 names, so these are for this block alone.
local times, units = {}, {}
if v$ then
  local tag, count = 0, 0
  if #v$ >= 11 and #v$ <= 523 then tag, count = unpack('<HB', v$) end
  if tag == 12658 and #v$ == 11 + 8 * count then
    keeps$ = unpack('<L', v$, 4)
    if not (keeps$ <= MAX) then @corrupt end
    for k = 1, count do
      local moment = unpack('<L', v$, 4 + 8 * k)
      if not (moment >= last$ and moment <= MAX) then @corrupt end
      times[k], units[k], last$ = moment, 1, moment
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
      local rest = last$ % per
      local base, current = (last$ - rest) / per, 60 * rest / per
      current = current - current % 1
      local n, shift = 0, base % 61
      for k = current - 60 > -60 * base and current - 60 or -60 * base, current do
        local there = slots$[6 + (k - shift) % 61]
        if there > 0 then
          local sixtieths = (k + 1) % 60
          local moment = sixtieths * per / 60
          moment = (base + (k + 1 - sixtieths) / 60) * per + (moment + -moment % 1) - 1
          n = n + 1
          times[n], units[n] = moment < last$ and moment or last$, there
        end
      end
      slots$ = nil
    end
  else
    @other window
  end
end
--# names ring
local list$, from$, len$, now$, newest$ = {}, 1, 0, clock, 0
--# read ring
-- One time for each unit, the newest 64.
for k = 1, #times do
  for _ = 1, units[k] < 64 and units[k] or 64 do
    len$ = len$ + 1
    list$[len$] = times[k]
  end
end
if len$ > 64 then from$ = len$ - 63 end
if len$ > 0 and clock < list$[len$] then now$ = list$[len$] end
newest$ = list$[len$] or 0
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
  @least keeps$
end
local parts = {pack('<HBL', 12658, len$ - from$ + 1, keeps$)}
for k = from$, len$ do parts[#parts + 1] = pack('<L', list$[k]) end
parts = table.concat(parts)
if stays then
  call('SET', keys[$], parts, 'KEEPTTL')
else
  call('SET', keys[$], parts, 'PXAT', string.format('%d', keeps$))
end
--# names grid
local base$, slot$ = 0, 0
--# read grid
-- Slots are told relative to the window of the newest time, `base` windows after the epoch: slot `k`
-- begins at base · per + k · per / 60, rounded up, and is kept at (k − base) mod 61.
local rest = last$ % per$
base$, slot$ = (last$ - rest) / per$, 60 * rest / per$
slot$ = slot$ - slot$ % 1
if not slots$ then
  slots$ = {12647, per$, last$, pause$, keeps$}
  for k = 6, 66 do slots$[k] = 0 end
  for k = 1, #times do
    local rest = times[k] % per$
    local slot = 60 * rest / per$
    slot = 60 * ((times[k] - rest) / per$ - base$) + (slot - slot % 1)
    if slot >= slot$ - 60 then
      local place = 6 + (slot - base$ % 61) % 61
      slots$[place] = slots$[place] + units[k]
      if slots$[place] > 4294967295 then slots$[place] = 4294967295 end
    end
  end
end
--# room grid
-- Moves on to now: slots that have left are emptied.
local live$ = 0
do
  local now = clock < last$ and last$ or clock
  local rest = now % per$
  local window, current = (now - rest) / per$, 60 * rest / per$
  current = current - current % 1
  local to = 60 * (window - base$) + current
  for k = slot$ + 1, to < slot$ + 61 and to or slot$ + 61 do
    slots$[6 + (k - base$ % 61) % 61] = 0
  end
  last$, base$, slot$ = now, window, current
  for k = 6, 66 do live$ = live$ + slots$[k] end
end
local room$ = cost$ <= full$ and live$ + cost$ <= full$ and pause$ <= last$
--# take grid
local more = full$ + OVER - live$
if more > cost$ then more = cost$ end
if more > 0 then
  local place = 6 + (slot$ - base$ % 61) % 61
  slots$[place] = slots$[place] + more
  if slots$[place] > 4294967295 then slots$[place] = 4294967295 end
end
--# take backoff
live$ = 0
for k = 6, 66 do live$ = live$ + slots$[k] end
local over = live$ - full$
if over > 0 then
  -- The delay of the table, at most until all of it has left.
  local delay = unpack('<L', rows$, 8 * (over < 32 and over or 32) - 7)
  local shift, oldest = base$ % 61, slot$ - 60
  if oldest < -60 * base$ then oldest = -60 * base$ end
  local newest = slot$
  while newest > oldest and slots$[6 + (newest - shift) % 61] == 0 do newest = newest - 1 end
  local sixtieths = (newest + 61) % 60
  local fresh = sixtieths * per$ / 60
  fresh = (base$ + (newest + 61 - sixtieths) / 60) * per$ + (fresh + -fresh % 1)
  if fresh > MAX then fresh = MAX end
  if fresh < pause$ then fresh = pause$ end
  if delay > fresh - last$ then delay = fresh - last$ end
  if delay > 0 then
    -- No shorter than until there is room again.
    local wait = delay
    if cost$ <= full$ then
      local leaving, k, free = live$ + cost$ - full$, oldest, pause$
      while leaving > 0 and k <= slot$ do
        sixtieths = (k + 61) % 60
        local leaves = sixtieths * per$ / 60
        leaves = (base$ + (k + 61 - sixtieths) / 60) * per$ + (leaves + -leaves % 1)
        if leaves > MAX then leaves = MAX end
        if leaves > free then free = leaves end
        leaving = leaving - slots$[6 + (k - shift) % 61]
        k = k + 1
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
  local from = 60 * rest / per$
  from = 60 * ((taken - rest) / per$ - base$) + (from - from % 1)
  if from < slot$ - 60 then from = slot$ - 60 end
  if from < -60 * base$ then from = -60 * base$ end
  local left = cost$ > 4294967295 and 4294967295 or cost$
  for k = from, slot$ do
    local place = 6 + (k - base$ % 61) % 61
    local less = left < slots$[place] and left or slots$[place]
    slots$[place], left = slots$[place] - less, left - less
  end
end
--# write grid
-- Kept until what is in its newest slot, or the backoff, has passed.
local sixtieths = (slot$ + 61) % 60
local fresh = sixtieths * per$ / 60
fresh = (base$ + (slot$ + 61 - sixtieths) / 60) * per$ + (fresh + -fresh % 1)
if fresh < pause$ then fresh = pause$ end
fresh = (fresh > MAX and MAX or fresh) / 1000
fresh = fresh + -fresh % 1
local stays = kept$ == 'grid' and fresh <= keeps$
if not stays then
  local slack = (per$ > SLACK and SLACK or per$) / 1000
  keeps$ = fresh + (slack + -slack % 1)
  @least keeps$
end
slots$[1], slots$[2], slots$[3], slots$[4], slots$[5] = 12647, per$, last$, pause$, keeps$
local value = pack(GRID, spread(slots$, 1, 66))
if stays then
  call('SET', keys[$], value, 'KEEPTTL')
else
  call('SET', keys[$], value, 'PXAT', string.format('%d', keeps$))
end
