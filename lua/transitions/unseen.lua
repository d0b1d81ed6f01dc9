-- unseen: names in the registry that nobody has used for a day, or the end of one of them.
-- FLAGS  allow-oom
-- KEYS   registry zset
-- ARGV   'list' how many to pass over | 'forget' name
-- REPLY  {names …}: a name that came back into use meanwhile is not forgotten
local clock = require 'base/clock'
local DAY, MOST = 86400000, 100

return function(q, args)
  local long_ago = clock.now(q) - DAY
  if args[1] == 'list' then return redis.call('ZRANGEBYSCORE', q.registry, '-inf', long_ago, 'LIMIT', args[2], MOST) end
  local seen = tonumber(redis.call('ZSCORE', q.registry, args[2]) or math.huge)
  if seen > long_ago then return {} end

  redis.call('ZREM', q.registry, args[2])
  return {args[2]}
end
