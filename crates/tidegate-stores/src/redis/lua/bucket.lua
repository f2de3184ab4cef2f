-- Bucket: a token is `p` units, each microsecond adds `r` units, and `full` tokens fit.
-- State: b1, the numbers it was written under, the level in units, when, and its expiry in ms.
--# read
local v$ = pcall('GET', keys[$])
local cap$ = full$ * p$
if not (cost$ * full$ * r$ * p$ >= 1 and r$ <= MAX and cap$ <= MAX) then @numbers end
-- What is kept has an expiry; zero, if it has to be written whole all the same.
local level$, now$, keeps$, need$ = cap$, clock, -1, cost$ * p$
if v$ then
  local tag, r, p, full, level, last, keeps = 0
  if #v$ == 50 then tag, r, p, full, level, last, keeps = unpack('<HLLLLLL', v$) end
  if tag == 12642 and r == r$ and p == p$ and full == full$ and level <= cap$ and last <= MAX
    and keeps <= MAX
  then
    if clock < last then now$ = last end
    level = level + r$ * (now$ - last)
    if level < cap$ then level$ = level end
    keeps$ = keeps
  elseif tag ~= 12642 then
    @other bucket
  elseif not (r >= 1 and r <= MAX and r <= 1000 * p and p >= 1 and full >= 1 and full * p <= MAX
    and level <= full * p and last <= MAX and keeps <= MAX)
  then
    @corrupt
  else
    local divisor, rest = r, p
    while rest > 0 do divisor, rest = rest, divisor % rest end
    if divisor ~= 1 then @corrupt end
    -- Written under other numbers: the slower rate and the smaller burst of both hold until it is
    -- full by those. Which is slower, Euclid tells without leaving 53 bits.
    local a, b, c, d, slower = r, p, r$, p$, nil
    while slower == nil do
      local x, y = a % b, c % d
      local whole, other = (a - x) / b, (c - y) / d
      if whole ~= other then slower = whole < other
      elseif y == 0 then slower = false
      elseif x == 0 then slower = true
      else a, b, c, d = d, y, b, x end
    end
    if not slower then a, b = r$, p$ else a, b = r, p end
    local most = full < full$ and full or full$
    if p ~= b then level = (level - level % p) / p * b end
    if level > most * b then level = most * b end
    local now = clock < last and last or clock
    level = level + a * (now - last)
    -- Full by the stricter numbers, it is as good as new.
    if level < most * b then
      if p$ ~= b then level = (level - level % b) / b * p$ end
      level$, now$, keeps$ = level < cap$ and level or cap$, now, 0
    end
  end
end
-- What is in it is never more than fits, so this also says whether the cost ever does.
local room$ = need$ <= level$
--# take
level$ = level$ - need$
--# most
if not (level$ > 0) then level$ = 0 end
--# back
local kept$ = keeps$ >= 0
if r$ * (clock > taken and clock - taken or 0) < cap$ then
  level$ = level$ + need$
  if not (level$ < cap$) then level$ = cap$ end
end
--# write
-- The expiry is worked out in whole microseconds, as the core does. A key whose expiry has come when
-- it is written is gone at once, so that is rounded up to the next millisecond.
local fresh = (cap$ - level$) / r$
fresh = now$ + (fresh + -fresh % 1)
if fresh > MAX then fresh = MAX end
if fresh <= keeps$ * 1000 then
  call('SETRANGE', keys[$], '26', pack('<LL', level$, now$))
else
  local slack = cap$ / r$
  slack = slack > SLACK and SLACK or slack + -slack % 1
  fresh = (fresh + slack) / 1000
  fresh = fresh - fresh % 1 + 1
  @least fresh
  call('SET', keys[$], pack('<HLLLLLL', 12642, r$, p$, full$, level$, now$, fresh), 'PXAT',
    string.format('%d', fresh))
end
