-- due: when the sweep has something to do. It is asked again and again of queues that nobody uses, so it asks little.
-- FLAGS  no-writes
-- KEYS   reserved zset · delayed zset · ended zset · gates hash · batches hash · timers zset · settings hash ·
-- KEYS   events stream
-- ARGV   -
-- REPLY  {next ms (-1 = never)}
local upcoming = require 'jobs/upcoming'

return function(q)
  local chosen = redis.call('HMGET', q.settings, 'retention_ms', 'retention_max')
  return {upcoming.next_ms(q, tonumber(chosen[1] or $RETENTION_MS), tonumber(chosen[2] or $RETENTION_MAX))}
end
