-- due: when the sweep next has work. It runs often on unused queues, so it must be cheap.
-- FLAGS  no-writes
-- KEYS   reserved zset · delayed zset · ended zset · gates hash · batches hash · timers zset · alarms zset ·
-- KEYS   settings hash · events stream · erasures hash
-- ARGV   retention ms of queues without their own ('' = only what is urgent counts)
-- REPLY  {next ms (-1 = never), whether events are to be deleted that name a worker (0 | 1)}
local first_of = require 'base/first'
local upcoming = require 'jobs/upcoming'

return function(q, args)
  local erases = redis.call('EXISTS', q.erasures)
  if redis.call('EXISTS', q.reserved, q.delayed, q.ended, q.timers, q.alarms) == 0 then return {-1, erases} end
  if args[1] == '' then return {upcoming.urgent_ms(q), erases} end
  local chosen = redis.call('HMGET', q.settings, 'retention_ms', 'retention_max')
  local kept_ms, max_kept = tonumber(chosen[1] or args[1]), tonumber(chosen[2] or $RETENTION_MAX)
  return {upcoming.next_ms(q, kept_ms, max_kept, first_of(q.alarms)), erases}
end
