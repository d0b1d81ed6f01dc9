-- unseen: names in the registry that nobody has used for a day, or the end of one of them.
-- FLAGS  allow-oom
-- USES   clock
-- KEYS   registry zset
-- ARGV   'list' how many to pass over | 'forget' name
-- REPLY  {names …}: a name that came back into use meanwhile is not forgotten
local DAY, MOST = 86400000, 100

if ARGV[1] == 'list' then return redis.call('ZRANGEBYSCORE', registry, '-inf', now - DAY, 'LIMIT', ARGV[2], MOST) end
local seen = tonumber(redis.call('ZSCORE', registry, ARGV[2]) or math.huge)
if seen > now - DAY then return {} end

redis.call('ZREM', registry, ARGV[2])
return {ARGV[2]}
