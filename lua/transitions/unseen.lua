-- unseen: lists queues unused for a day, or removes one from the registry or from its limit.
-- FLAGS  allow-oom
-- KEYS   registry zset
-- ARGV   'list' offset | 'forget' name | 'drop' name, the score that it had | 'vacate' name
-- REPLY  {names …}: a name that came back into use meanwhile is not forgotten or dropped; of one that is vacated the score is below 0
local clock = require 'base/clock'
local DAY, MAX = clock.DAY, 100

return function(q, args)
  local now = clock.now(q)
  local long_ago = now - DAY
  if args[1] == 'list' then
    return redis.call('ZRANGEBYSCORE', q.registry, -long_ago, long_ago, 'LIMIT', args[2], MAX)
  end
  if args[1] == 'vacate' then
    redis.call('ZADD', q.registry, 'XX', -now, args[2])
    return {args[2]}
  end
  local score = tonumber(redis.call('ZSCORE', q.registry, args[2]) or math.huge)
  local is_used = math.abs(score) > long_ago
  if args[1] == 'drop' then is_used = score ~= tonumber(args[3]) end
  if is_used then return {} end

  redis.call('ZREM', q.registry, args[2])
  return {args[2]}
end
