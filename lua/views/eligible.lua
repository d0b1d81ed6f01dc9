-- eligible: whether a worker may be given a job that has not ended.   reads only
-- FLAGS  no-writes
-- KEYS   jobs hash · live hash · gates hash · batches hash · timers zset · routes hash · alarms zset · totals hash ·
-- KEYS   events stream
-- ARGV   id, worker, skills (none = '') as jobs/ask reads them
-- REPLY  {'eligible'} | {'ineligible', rule} | {'state', state}: it has ended | {'unknown'}
local record = require 'base/record'
local ask = require 'jobs/ask'
local route = require 'jobs/route'
local routing = require 'jobs/routing'
local ENDED = {[record.DEAD] = true, [record.COMPLETED] = true, [record.CANCELLED] = true}

return function(q, args)
  local id = args[1]
  local raw = redis.call('HGET', q.jobs, id)
  local header = raw and record.header(raw)
  if not header or record.is_alias(header) then return {'unknown'} end
  local live = redis.call('HGET', q.live, id)
  local state = live and record.live(live).state or record.WAITING
  if route.is_over_in(q, id, header, state) then state = record.CANCELLED end
  if ENDED[state] then return {'state', record.STATES[state]} end
  local rule = routing.rule(q, id, header, args[2], ask.skills(args[3]))
  if rule then return {'ineligible', rule} end
  return {'eligible'}
end
