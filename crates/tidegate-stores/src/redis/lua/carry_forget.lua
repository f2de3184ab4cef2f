-- Forgets a state that was carried over; unless a node that knows only the old name counts on it.
if redis.call('GET', KEYS[1]) == string.sub(ARGV[1], 5) then redis.call('DEL', KEYS[1]) end
return string.sub(ARGV[1], 1, 4)
