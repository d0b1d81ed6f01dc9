-- Raises the counter of a restart marker, KEYS[1], and returns it. Two writes make a transaction of the append-only file.
local counts = redis.call('HMGET', KEYS[1], 'inside', 'outside')
local count = math.max(tonumber(counts[1]) or 0, tonumber(counts[2]) or 0) + 1
redis.call('HSET', KEYS[1], 'inside', count)
redis.call('HSET', KEYS[1], 'raised', redis.call('TIME')[1])
return count
