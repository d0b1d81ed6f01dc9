-- first: the lowest score of a sorted set, which is when its first member falls due; infinity for an empty set.
local call, huge = redis.call, math.huge

return function(key)
  return tonumber(call('ZRANGE', key, '0', '0', 'WITHSCORES')[2] or huge)
end
