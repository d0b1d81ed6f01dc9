-- eligible: whether a worker may be given a job that has not ended.   reads only
-- FLAGS  no-writes
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · held zset ·
-- KEYS   restricted zset · lines zset · turns hash · jobs hash · live hash · results hash · drafts hash ·
-- KEYS   dedupe hash · gates hash · batches hash · timers zset · routes hash · alarms zset · tops hash ·
-- KEYS   settings hash · totals hash · events stream · hints channel
-- ARGV   id, worker, skills (none = '') as jobs/ask reads them
-- REPLY  {'eligible'} | {'ineligible', rule} | {'state', state}: it has ended | {'unknown'}
local record = require 'base/record'
local ask = require 'jobs/ask'
local lapse = require 'jobs/lapse'
local routing = require 'jobs/routing'
local ENDED = {[record.DEAD] = true, [record.COMPLETED] = true, [record.CANCELLED] = true}

return function(q, args)
  local id = args[1]
  local raw = redis.call('HGET', q.jobs, id)
  local header = raw and record.header(raw)
  if not header or record.is_alias(header) then return {'unknown'} end
  local live = redis.call('HGET', q.live, id)
  local r = live and record.live(live) or record.new(record.WAITING, -1, header.priority, header.stamp)
  local state = lapse.state(q, id, r, header, tonumber(redis.call('ZSCORE', q.reserved, id) or 0))
  if ENDED[state] then return {'state', record.STATES[state]} end
  local rule = routing.rule(q, id, header, args[2], ask.skills(args[3]))
  if rule then return {'ineligible', rule} end
  return {'eligible'}
end
