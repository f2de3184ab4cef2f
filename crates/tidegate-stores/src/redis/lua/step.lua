-- One step over the counters of one decision: read all, check all, then write all or nothing. What
-- is asked comes as one packed argument (args.rs); the answer is the time, what was done, and every
-- state as it was found (reply.rs). The readings are worked out from those by the rules of the core.
--
-- A script is put together from these parts, one for each sequence of shapes; `$` is the place of a
-- charge in it. Everything stored or sent is an unsigned integer of 64 bits, so there are no
-- fractions, negatives or NaN to begin with; what is beyond 2^53 is found before the first write,
-- and every comparison that decides is written so that NaN would refuse. `@least` is for counters that
-- had another name before a reload (template/former.rs). Below 2^53, `a / b` has the
-- right floor and ceiling; they are written with `%` because a call costs more. Names in capitals
-- stand for numbers (template.rs).
--# begin windows
local spread, GRID = unpack, '<HLLLL' .. string.rep('I4', 61)
--# functions
local keys, call, pcall, unpack, pack = KEYS, redis.call, redis.pcall, struct.unpack, struct.pack
--# clock
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
--# begin settling
if not (taken <= MAX and late <= MAX) then
  return redis.error_reply('TIDEGATE a time cannot be counted with')
end
if clock >= late then return nonce .. 'late ' .. time[1] .. ' ' .. time[2] .. ' ' end
--# mark
-- A minute longer than the ticket is good for: a clock may be set back.
local marked = pcall('SET', keys[$], '1', 'NX', 'PXAT', string.format('%d', (late + SLACK) / 1000))
if not marked then return nonce .. 'before ' .. time[1] .. ' ' .. time[2] .. ' ' end
if marked.err then return marked end
--# corrupt
return nonce .. 'corrupt $ '
--# stale
return nonce .. string.format('stale $ %d ', now$)
--# numbers
return redis.error_reply('TIDEGATE charge $ has a number that cannot be counted with')
--# other
-- A state of another shape is as good as none. A later digit is a later version. What we may not read
-- is no damage of the counter, and its error is told as it is.
if type(v$) == 'table' and not string.find(v$.err, 'WRONGTYPE', 1, true) then return v$ end
local letter, digit = 0, 0
if type(v$) == 'string' and #v$ >= 2 then letter, digit = unpack('<BB', v$) end
local shape = letter == 98 and 'bucket' or letter == 113 and 'quota'
  or (letter == 114 or letter == 103) and 'window' or letter == 97 and 'attempts'
if not shape or digit ~= 49 or shape == 'OWN' then
  return nonce .. (shape and digit > 49 and digit < 58 and 'version $ ' or 'corrupt $ ')
end
v$ = false
