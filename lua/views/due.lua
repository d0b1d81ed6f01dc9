-- due: when the sweep has something to do. It is asked again and again of queues that nobody uses, so it asks little.
-- FLAGS  no-writes
-- KEYS   reserved zset · delayed zset · ended zset · gates hash · batches hash · timers zset · settings hash ·
-- KEYS   events stream
-- ARGV   ms that a queue keeps what has ended, unless it says so itself
-- REPLY  {next ms (-1 = never)}
local upcoming = require 'jobs/upcoming'

return function(q, args)
  local chosen = redis.call('HMGET', q.settings, 'retention_ms', 'retention_max')
  return {upcoming.next_ms(q, tonumber(chosen[1] or args[1]), tonumber(chosen[2] or $RETENTION_MAX))}
end
