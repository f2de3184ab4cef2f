local time = redis.call('TIME')
redis.call('SET', KEYS[1], time[1], 'PX', 10000)
return ARGV[1] .. time[1] .. ' ' .. time[2]
