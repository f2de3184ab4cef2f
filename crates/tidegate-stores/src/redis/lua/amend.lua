-- What an operator does to one counter (amend.rs): blocks it, lifts its block, or forgets it, under all
-- names it has had. The log is
-- read as a charge reads it (attempts.lua). The answer is whether anything was changed, the time, and
-- the last block.
--# arguments
-- 1 is to block, 2 to unblock, 3 to reset, 0 nothing but to tell. Who knows the limit may also block
-- where nothing is kept yet.
local nonce, what, known, id, lasts, level, decay = unpack('<c4BBc8LBL', ARGV[1])
--# reset
if what == 3 then
  local gone = 0
  for place in ipairs(keys) do gone = gone + call('DEL', keys[place]) end
  return nonce .. (gone > 0 and '+ ' or '- ') .. time[1] .. ' ' .. time[2] .. ' '
    .. pack('<LBB', 0, 0, 0)
end
--# numbers
if not (lasts <= MAX and level <= 6 and decay >= 1 and decay <= LONGEST) then @numbers end
--# amend
local done, log = '- ', v$ and string.sub(v$, 31) or ''
if what == 1 and (v$ or known == 1) then
  local ends = now$ + lasts
  if ends > MAX then ends = MAX end
  -- What is left of the level stands.
  if level$ > 0 then
    local off = now$ > ends$ and (now$ - ends$) / decay or 0
    local standing = level$ - (off - off % 1)
    if standing > level then level = standing end
  end
  -- A block that ends later stays as it is.
  if ends$ < ends then done, ends$, scope$, level$ = '+ ', ends, 3, level end
elseif what == 2 and v$ then
  if count$ > 0 or scope$ > 0 and (level$ == 0 or ends$ > clock) then done = '+ ' end
  -- The level stands: whoever is blocked again soon climbs on.
  if level$ == 0 then ends$, scope$ = 0, 0 elseif ends$ > clock then ends$ = clock end
  log, count$, pairs$ = '', 0, 0
end
if done == '+ ' then
  -- Kept for as long as the log has to be, and as the level counts.
  local fresh = (ends$ + level$ * decay) / 1000
  if known == 0 then id = string.sub(v$, 19, 26) end
  if v$ and fresh <= keeps$ then
    call('SET', keys[$], pack('<HLLc8BBBB', 12641, keeps$, ends$, id, scope$, level$, count$,
      pairs$) .. log, 'KEEPTTL')
  else
    -- In the next millisecond at the earliest: what expires in this one, some servers delete at once.
    if fresh < clock / 1000 then fresh = clock / 1000 end
    fresh = (fresh > MAX / 1000 and MAX / 1000 or fresh) + 1
    fresh = fresh - fresh % 1
    call('SET', keys[$], pack('<HLLc8BBBB', 12641, fresh, ends$, id, scope$, level$, count$,
      pairs$) .. log, 'PXAT', string.format('%d', fresh))
  end
end
return nonce .. done .. time[1] .. ' ' .. time[2] .. ' ' .. pack('<LBB', ends$, scope$, level$)
