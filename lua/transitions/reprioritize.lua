-- reprioritize: an operator changes how urgent a job is, or those of one state are; a reserved one has it on its return.
--        waiting | blocked | reserved | delayed, blocked -> waiting if it has come before others
-- FLAGS  allow-oom
-- KEYS   inbound zset · reserved zset · delayed zset · parked zset · turns hash · jobs hash · live hash · gates hash ·
-- KEYS   batches hash · timers zset · tops hash · totals hash · events stream · hints channel
-- ARGV   'job' id | 'queue' state; priority; client ('' = any), batch ('' = any), what an error contains ('' = whatever),
-- ARGV   enqueued before (ms, '' = whenever), score and member of the last one that stays ('' = from the front); of both
-- ARGV   at their end, by whose key ('' = nobody's)
-- REPLY  {'changed', state} | {'unknown'} | {'state', state}: the job has ended |
-- REPLY  {'all', n, more (0 | 1), score and member of the last one that stays: it has another state, is not meant, has
-- REPLY  this priority already, or keeps its place in the set}
local record = require 'base/record'
local write = require 'base/write'
local event = require 'base/event'
local commit = require 'base/commit'
local place = require 'jobs/place'
local order = require 'jobs/order'
local gate = require 'jobs/gate'
local known = require 'jobs/known'
local parking = require 'jobs/parking'
local baton = require 'jobs/baton'
local search = require 'jobs/search'
local STATES, WAITING, BLOCKED = record.STATES, record.WAITING, record.BLOCKED
local SETS = {waiting = 'inbound', blocked = 'parked', delayed = 'delayed', reserved = 'reserved'}

local function has_ended(state)
  return state == record.COMPLETED or state == record.DEAD or state == record.CANCELLED
end

-- It stands elsewhere now, in line or at its gate.
local function line_up_anew(q, id, r, header, name)
  if r.state == WAITING then
    baton.enter_line(q, id, r)
    -- Somebody who is parked at one of its gates may be before it now.
    baton.pass_all(q, id, header)
  elseif r.state == BLOCKED then
    baton.park(q, id, r, header, name)
    -- If it is the first one there now, and there is room, it is the one to be put back.
    if place.id_of(parking.first(q, name)) == id then baton.pass(q, name) end
  end
end

-- Answers whether it has another priority now.
local function change(q, id, r, header, priority)
  local before = r.score < 0 and r.priority or order.priority_of(r.score)
  if before == priority then return false end
  local name = r.gate
  if r.state == BLOCKED then baton.unpark(q, id, r) end
  if r.state == WAITING then baton.leave_line(q, id, r) end
  r.priority = priority
  if r.score >= 0 then
    if not order.knows(q, priority, header.client) then write.spend(q, 2) end
    order.arrive(q, r, priority, header.client)
  end
  gate.keep(q, id, r)
  line_up_anew(q, id, r, header, name)
  event.tell(q, 'changed', id, '', header, '')
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

-- One entry of the set. Whoever has another place now is met there again, and then stays.
local function consider(q, step, entry)
  local job = entry.job
  if not job then return write.remove(q, step.key, entry.member) end -- nobody stands there
  local id, r, header = job.id, job.record, job.header
  local is_there = r and STATES[r.state] == step.state and search.is_meant(id, header, r, step.meant)
  local changed = is_there and change(q, id, r, header, step.priority)
  if changed then step.changed = step.changed + 1 end
  if changed and (step.key == 'inbound' or step.key == 'parked') then return end
  step.score, step.member = entry.score, entry.member
end

local function change_all(q, args)
  local step = {
    state = args[2], key = SETS[args[2]], priority = tonumber(args[3]), meant = search.meant(args, 4), score = args[8],
    member = args[9], changed = 0,
  }
  local sets = {inbound = q.inbound, parked = q.parked, delayed = q.delayed, reserved = q.reserved}
  local entries, those, more = search.read(q, sets[step.key], step)
  if #entries == 0 then return {'all', 0, 0, step.score, step.member} end
  gate.foresee(q, those)
  -- A baton that one of them passes may reach another.
  for _, job in ipairs(those) do
    if job and job.record then known.note(q, job.id, job.record, job.header) end
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
  event.act(q, args[#args])
  if args[1] == 'queue' then return change_all(q, args) end
  return change_one(q, args[2], tonumber(args[3]))
end
