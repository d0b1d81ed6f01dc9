-- due: when the sweep next has work. It runs often on unused queues, so it must be cheap.
-- FLAGS  no-writes
-- KEYS   reserved zset · delayed zset · ended zset · gates hash · batches hash · timers zset · alarms zset ·
-- KEYS   settings hash · events stream · erasures hash
-- ARGV   retention ms of queues without their own ('' = only what is urgent counts)
-- REPLY  {next ms (-1 = never), whether events are to be deleted that name a worker (0 | 1)}
local first_of = require 'base/first'
local upcoming = require 'jobs/upcoming'

return function(q, args)
  -- One command for six keys: one that is named six times counts six.
  local e = q.erasures
  local found = redis.call('EXISTS', q.reserved, q.delayed, q.ended, q.timers, q.alarms, e, e, e, e, e, e)
  local erases = found >= 6 and 1 or 0
  if found % 6 == 0 then return {-1, erases} end
  if args[1] == '' then return {upcoming.urgent_ms(q), erases} end
  local chosen = redis.call('HMGET', q.settings, 'retention_ms', 'retention_max')
  local kept_ms, max_kept = tonumber(chosen[1] or args[1]), tonumber(chosen[2] or $RETENTION_MAX)
  return {upcoming.next_ms(q, kept_ms, max_kept, first_of(q.alarms)), erases}
end
