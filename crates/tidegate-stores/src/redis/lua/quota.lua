-- Quota: `full` units per period. State: q1, the start of the period, what was used in it, and its
-- expiry in ms.
--# read
local v$ = pcall('GET', keys[$])
if not (cost$ * full$ >= 1 and full$ <= MAX - OVER) then @numbers end
local begun$, kept$, keeps$, now$ = nil, 0, 0, clock
if v$ then
  local tag = 0
  if #v$ == 26 then tag, begun$, kept$, keeps$ = unpack('<HLLL', v$) end
  if tag ~= 12657 then
    @other quota
    begun$, kept$, keeps$ = nil, 0, 0
  elseif not (begun$ <= MAX and kept$ <= MAX and keeps$ <= MAX) then
    @corrupt
  end
  if begun$ and clock < begun$ then now$ = begun$ end
end
--# read fixed
if not (length$ >= 1 and length$ <= MAX) then @numbers end
local start$ = now$ - now$ % length$
local finish$ = start$ + length$
--# read first use
if not (length$ >= 1 and length$ <= MAX) then @numbers end
local start$ = now$
-- Where nothing is used, none has begun.
if begun$ and kept$ > 0 and now$ < begun$ + length$ and now$ < MAX then start$ = begun$ end
local finish$ = start$ + length$
--# read calendar
if not (first$ <= second$ and second$ <= third$ and third$ <= fourth$ and fourth$ <= MAX) then
  @numbers
end
local start$, finish$
if first$ <= now$ and now$ < second$ then start$, finish$ = first$, second$
elseif second$ <= now$ and now$ < third$ then start$, finish$ = second$, third$
elseif third$ <= now$ and (now$ < fourth$ or now$ == MAX and fourth$ == MAX) then
  start$, finish$ = third$, fourth$
else @stale end
--# room
local used$ = 0
if begun$ then
  -- Whatever period is in force, what was used counts until its own would have ended, which its expiry
  -- tells. If that is later than the end of the one in force, it stays so when more is used.
  local lasts = kept$ > 0 and keeps$ * 1000 or 0
  lasts = lasts - (lasts - begun$ < 90000000 and 1000000 or SLACK)
  if begun$ >= start$ or finish$ < lasts then
    start$, used$ = begun$, kept$
    if finish$ < lasts then finish$ = lasts end
  elseif now$ < lasts then
    used$ = kept$
  end
end
local room$ = used$ + cost$ <= full$
--# take
used$ = used$ + cost$
--# most
if used$ > full$ + OVER then used$ = full$ + OVER end
--# back
local start$, finish$, used$ = begun$, keeps$ * 1000, kept$
if begun$ then finish$ = finish$ - (finish$ - begun$ < 90000000 and 1000000 or SLACK) end
if begun$ and begun$ <= taken then
  used$ = used$ - cost$
  if not (used$ > 0) then used$ = 0 end
end
kept$ = begun$
--# write
-- Kept a minute longer, or a second where the period is shorter than a minute: a clock that is set back
-- by less does not begin it anew. And no longer than that, because the expiry tells the end of the period.
local fresh = (finish$ + (finish$ - start$ < SLACK - 1000 and 1000000 or SLACK)) / 1000
fresh = fresh - fresh % 1
if fresh == keeps$ then
  call('SETRANGE', keys[$], '2', pack('<LL', start$, used$))
else
  call('SET', keys[$], pack('<HLLL', 12657, start$, used$, fresh), 'PXAT',
    string.format('%d', fresh))
end
