-- release: an operator takes jobs from their holder; it is not an attempt.   reserved -> waiting | blocked
-- FLAGS  allow-oom
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · held zset ·
-- KEYS   restricted zset · lines zset · turns hash · jobs hash · live hash · results hash · drafts hash ·
-- KEYS   dedupe hash · gates hash · batches hash · timers zset · routes hash · alarms zset · tops hash ·
-- KEYS   settings hash · totals hash · events stream · actions hash · hints channel
-- ARGV   'job' id | 'worker' name, name of the API key ('' = none), note for the list of actions
-- REPLY  {'released', n, more (0 | 1)} | {'unknown'}
local record = require 'base/record'
local clock = require 'base/clock'
local write = require 'base/write'
local event = require 'base/event'
local action = require 'base/action'
local total = require 'base/total'
local commit = require 'base/commit'
local gate = require 'jobs/gate'
local place = require 'jobs/place'
local ended = require 'jobs/ended'
local leave = require 'jobs/leave'
local back = require 'jobs/back'
local closing = require 'jobs/closing'
local MAX = $STEP_JOBS

-- The ids of the jobs, and their members in `held` if a worker was named.
local function selected(q, args)
  if args[1] ~= 'worker' then return {args[2]}, nil end
  local from, to = '[' .. args[2] .. '\0', '(' .. args[2] .. '\1'
  local members, ids = redis.call('ZRANGEBYLEX', q.held, from, to, 'LIMIT', 0, MAX), {}
  for i, member in ipairs(members) do ids[i] = place.id_of(member) end
  return ids, members
end

local function release(q, id, r, lease, header)
  r.released = r.released + 1
  leave.lease(q, id, r, lease, ended.RELEASED, header)
  event.add(q, 'released', id, lease.worker, header, '')
  back.to_line(q, id, r, header)
  total.count(q, 'released')
end

-- Ends a reservation. Past its deadline, swept or not, it expires instead, and a job that its worker has completed is completed. Returns
-- whether it was released.
local function take_back(q, job, deadline)
  local lease = record.lease(job.record.lease)
  local is_over = clock.now(q) >= tonumber(deadline or 0) or closing.is(lease)
  local act = is_over and back.expire or release
  act(q, job.id, job.record, lease, job.header)
  return not is_over
end

return function(q, args)
  local ids, members = selected(q, args)
  event.set_actor(q, args[3])
  if #ids == 0 then return {'released', 0, 0} end
  local lives, headers = redis.call('HMGET', q.live, unpack(ids)), redis.call('HMGET', q.jobs, unpack(ids))
  if not members and (not headers[1] or record.is_alias(record.header(headers[1]))) then return {'unknown'} end
  local deadlines = redis.call('ZMSCORE', q.reserved, unpack(ids))
  local jobs, released, more = {}, 0, #ids >= MAX
  for i, id in ipairs(ids) do
    local r = lives[i] and headers[i] and record.live(lives[i])
    jobs[i] = r and r.lease ~= '' and {id = id, record = r, header = record.header(headers[i])}
  end
  gate.prefetch(q, jobs)
  for i in ipairs(ids) do
    if write.is_spent(q) then
      more = true
      break
    end
    if jobs[i] then
      if take_back(q, jobs[i], deadlines[i]) then released = released + 1 end
    elseif members then
      write.remove(q, 'held', members[i]) -- not reserved
    end
  end
  action.add(q, args[4], released)
  return commit(q, {'released', released, more and 1 or 0})
end
