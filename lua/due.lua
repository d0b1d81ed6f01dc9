-- due: when the sweep has something to do. It is asked again and again of queues that nobody uses, so it asks little.
-- FLAGS  no-writes
-- USES   clock upcoming
-- KEYS   reserved zset · delayed zset · ended zset · timers zset · settings hash
-- ARGV   -
-- REPLY  {next ms (-1 = never)}
if redis.call('EXISTS', reserved, delayed, ended, timers) == 0 then return {-1} end

local chosen = redis.call('HMGET', settings, 'retention_ms', 'retention_max')
return {next_ms(tonumber(chosen[1] or $RETENTION_MS), tonumber(chosen[2] or $RETENTION_MAX))}
