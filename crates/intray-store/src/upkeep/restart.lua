-- Raises the counter of a restart marker, KEYS[1], and returns it; nil if a loss is not noted yet, which a higher count would
-- hide. Two writes make a transaction of the append-only file.
local counts = redis.call('HMGET', KEYS[1], 'inside', 'outside', 'lost')
local inside, outside = tonumber(counts[1]) or 0, tonumber(counts[2]) or 0
if outside > inside and outside ~= tonumber(counts[3]) then return nil end
local count = math.max(inside, outside) + 1
redis.call('HSET', KEYS[1], 'inside', count)
redis.call('HSET', KEYS[1], 'raised', redis.call('TIME')[1])
return count
