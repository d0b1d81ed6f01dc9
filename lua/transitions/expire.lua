-- expire: cancels jobs that have expired, reports breached SLAs, and lets jobs fall back to others, one bounded step.
--         waiting | blocked | delayed | reserved -> cancelled, waiting -> waiting | blocked
-- FLAGS  allow-oom
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · held zset ·
-- KEYS   restricted zset · lines zset · turns hash · jobs hash · live hash · results hash · drafts hash ·
-- KEYS   dedupe hash · gates hash · batches hash · timers zset · routes hash · alarms zset · tops hash ·
-- KEYS   settings hash · totals hash · events stream · hints channel
-- ARGV   -
-- REPLY  {how many were cancelled}
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local write = require 'base/write'
local event = require 'base/event'
local commit = require 'base/commit'
local place = require 'jobs/place'
local gate = require 'jobs/gate'
local loaded = require 'jobs/loaded'
local route = require 'jobs/route'
local alarm = require 'jobs/alarm'
local lapse = require 'jobs/lapse'
local baton = require 'jobs/baton'
local lines = require 'jobs/lines'
local routing = require 'jobs/routing'
local STEP = '100'

-- The jobs whose alarms are due, {id, record, header} each, false for one that is gone.
local function read(q)
  local ids = redis.call('ZRANGEBYSCORE', q.alarms, '-inf', text.of(clock.now(q)), 'LIMIT', '0', STEP)
  local jobs, new = {}, {}
  if #ids == 0 then return ids, jobs end
  local lives, raws = redis.call('HMGET', q.live, unpack(ids)), redis.call('HMGET', q.jobs, unpack(ids))
  for i, id in ipairs(ids) do
    jobs[i] = raws[i] and {id = id, record = lives[i] and record.live(lives[i]), header = record.header(raws[i])}
    if jobs[i] and not lives[i] then new[#new + 1] = jobs[i] end
  end
  route.prefetch(q, ids, raws)
  place.unseen_ones(q, new)
  gate.prefetch(q, jobs)
  -- A baton that one of them passes may put back another.
  for _, job in ipairs(jobs) do
    if job then loaded.note(q, job.id, job.record, job.header) end
  end
  return ids, jobs
end

-- The job is for others from now on.
local function fall_back(q, id, r, header, own)
  local waits = r.state == record.WAITING
  if waits then lines.leave(q, id, r, header) end
  routing.fall_back(q, id, own, r.state == record.RESERVED)
  event.add(q, 'fallback', id, '', header, '')
  if waits then baton.line_up(q, id, r, header) end
end

-- Returns whether the job ends.
local function fire_alarm(q, job)
  local id, r, header = job.id, job.record, job.header
  local own = route.of(q, id, header)
  if not own or r.state == record.DEAD or r.state == record.COMPLETED or r.state == record.CANCELLED then
    write.remove(q, 'alarms', id) -- a stale alarm would come first again
    return false
  end
  if route.is_over(q, id, header) then
    lapse.job(q, id, r, header, math.huge)
    return r.state == record.CANCELLED
  end
  alarm.breach(q, id, own, header)
  local is_held = r.state == record.RESERVED
  if routing.is_due(q, own, is_held) then fall_back(q, id, r, header, own) end
  alarm.set(q, id, own, is_held)
  return false
end

return function(q)
  local ids, jobs = read(q)
  local cancelled = 0
  for i, id in ipairs(ids) do
    if write.is_spent(q) then
      break
    elseif not jobs[i] then
      write.remove(q, 'alarms', id) -- the job is gone
    elseif fire_alarm(q, jobs[i]) then
      cancelled = cancelled + 1
    end
  end
  return commit(q, {cancelled})
end
