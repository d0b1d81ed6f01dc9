-- reprioritize: an operator changes how urgent a job is, or those of one state are; a reserved one has it on its return.
--        waiting | blocked | reserved | delayed, blocked -> waiting if it has come before others
-- FLAGS  allow-oom
-- KEYS   inbound zset · reserved zset · delayed zset · parked zset · turns hash · jobs hash · live hash · gates hash ·
-- KEYS   batches hash · timers zset · tops hash · totals hash · events stream · hints channel
-- ARGV   'job' id | 'queue' state; priority; client ('' = any), batch ('' = any), text of an error ('' = any),
-- ARGV   enqueued before (ms, '' = any), score and member of the last one that stays ('' = from the front); of both
-- ARGV   at their end, name of the API key ('' = none)
-- REPLY  {'changed', state} | {'unknown'} | {'state', state}: the job has ended |
-- REPLY  {'all', n, more (0 | 1), score and member of the last one that stays: it has another state, does not match, has
-- REPLY  this priority already, or keeps its place in the set}
local record = require 'base/record'
local write = require 'base/write'
local event = require 'base/event'
local commit = require 'base/commit'
local place = require 'jobs/place'
local order = require 'jobs/order'
local gate = require 'jobs/gate'
local loaded = require 'jobs/loaded'
local parking = require 'jobs/parking'
local baton = require 'jobs/baton'
local search = require 'jobs/search'
local STATES, WAITING, BLOCKED = record.STATES, record.WAITING, record.BLOCKED
local SETS = {waiting = 'inbound', blocked = 'parked', delayed = 'delayed', reserved = 'reserved'}

local function has_ended(state)
  return state == record.COMPLETED or state == record.DEAD or state == record.CANCELLED
end

-- Puts the job at its new place in line or at its gate.
local function line_up_anew(q, id, r, header, name)
  if r.state == WAITING then
    baton.enter_line(q, id, r)
    -- A job parked at one of its gates may precede it now.
    baton.pass_all(q, id, header)
  elseif r.state == BLOCKED then
    baton.park(q, id, r, header, name)
    -- If it is the first there now and there is room, it goes back into line.
    if place.id_of(parking.first(q, name)) == id then baton.pass(q, name) end
  end
end

-- Returns whether the priority changed.
local function change(q, id, r, header, priority)
  local before = r.score < 0 and r.priority or order.priority_of(r.score)
  if before == priority then return false end
  local name = r.gate
  if r.state == BLOCKED then baton.unpark(q, id, r) end
  if r.state == WAITING then baton.leave_line(q, id, r) end
  r.priority = priority
  if r.score >= 0 then
    if not order.is_loaded(q, priority, header.client) then write.spend(q, 2) end
    order.arrive(q, r, priority, header.client)
  end
  gate.keep(q, id, r)
  line_up_anew(q, id, r, header, name)
  event.add(q, 'changed', id, '', header, '')
  return true
end

local function change_one(q, id, priority)
  local raw, live = redis.call('HGET', q.jobs, id), redis.call('HGET', q.live, id)
  local header = raw and record.header(raw)
  if not header or record.is_alias(header) then return {'unknown'} end
  local r = live and record.live(live) or place.unseen(q, id, header)
  if has_ended(r.state) then return {'state', STATES[r.state]} end
  local changed = change(q, id, r, header, priority)
  local answer = {'changed', STATES[r.state]}
  return changed and commit(q, answer) or answer
end

-- One entry of the set. A job that moved is met again at its new place, and then stays.
local function consider(q, step, entry)
  local job = entry.job
  if not job then return write.remove(q, step.key, entry.member) end -- the job is gone
  local id, r, header = job.id, job.record, job.header
  local is_there = r and STATES[r.state] == step.state and search.matches(id, header, r, step.filter)
  local changed = is_there and change(q, id, r, header, step.priority)
  if changed then step.changed = step.changed + 1 end
  if changed and (step.key == 'inbound' or step.key == 'parked') then return end
  step.score, step.member = entry.score, entry.member
end

local function change_all(q, args)
  local step = {
    state = args[2], key = SETS[args[2]], priority = tonumber(args[3]), filter = search.filter(args, 4), score = args[8],
    member = args[9], changed = 0,
  }
  local sets = {inbound = q.inbound, parked = q.parked, delayed = q.delayed, reserved = q.reserved}
  local entries, jobs, more = search.read(q, sets[step.key], step)
  if #entries == 0 then return {'all', 0, 0, step.score, step.member} end
  gate.prefetch(q, jobs)
  -- A baton that one of them passes may put back another.
  for _, job in ipairs(jobs) do
    if job and job.record then loaded.note(q, job.id, job.record, job.header) end
  end
  for _, entry in ipairs(entries) do
    if write.is_spent(q) then
      more = true
      break
    end
    consider(q, step, entry)
  end
  return commit(q, {'all', step.changed, more and 1 or 0, step.score, step.member})
end

return function(q, args)
  event.set_actor(q, args[#args])
  if args[1] == 'queue' then return change_all(q, args) end
  return change_one(q, args[2], tonumber(args[3]))
end
