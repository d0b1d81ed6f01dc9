-- purge: an operator removes the jobs of one state, a bounded step at a time; those of a batch, which counts them, are
--        cancelled instead.   any -> gone | cancelled
-- FLAGS  allow-oom
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · held zset ·
-- KEYS   restricted zset · lines zset · turns hash · jobs hash · payloads hash · live hash · results hash ·
-- KEYS   drafts hash · dedupe hash · gates hash · batches hash · timers zset · routes hash · alarms zset ·
-- KEYS   tops hash · settings hash · totals hash · events stream · actions hash · hints channel
-- ARGV   state, or 'ended' for all that have ended, with aliases; client
-- ARGV   ('' = any), batch ('' = any), text of an error ('' = any), enqueued before (ms, '' = any); score
-- ARGV   and member of the last one that stays ('' = from the front); name of the API key ('' = none), note for
-- ARGV   the list of actions
-- REPLY  {removed, more (0 | 1), score and member of the last one that stays: it has another state, does not match, or is
-- REPLY  dead in a batch that is over}
local record = require 'base/record'
local write = require 'base/write'
local event = require 'base/event'
local action = require 'base/action'
local total = require 'base/total'
local commit = require 'base/commit'
local batch = require 'base/batch'
local order = require 'jobs/order'
local gate = require 'jobs/gate'
local ended = require 'jobs/ended'
local dedupe = require 'jobs/dedupe'
local leave = require 'jobs/leave'
local lines = require 'jobs/lines'
local alarm = require 'jobs/alarm'
local ending = require 'jobs/ending'
local closing = require 'jobs/closing'
local removal = require 'jobs/removal'
local search = require 'jobs/search'
local SETS = {
  waiting = 'inbound', blocked = 'parked', delayed = 'delayed', dead = 'dead', reserved = 'reserved', completed = 'ended',
  cancelled = 'ended', ended = 'ended',
}

local function open(q, args)
  local step = {
    state = args[1], key = SETS[args[1]], filter = search.filter(args, 2), score = args[6], member = args[7], removed = 0,
  }
  local sets = {
    inbound = q.inbound, restricted = q.restricted, parked = q.parked, delayed = q.delayed, dead = q.dead, reserved = q.reserved,
    ended = q.ended,
  }
  local jobs
  step.entries, jobs, step.more = search.read(q, sets, step)
  gate.prefetch(q, jobs)
  return step
end

local function forget_ended(q, id, r)
  removal.delete(q, id, r)
  write.remove(q, 'ended', id)
  total.count(q, 'gone')
  if not r then
    total.count(q, 'stubs', -1)
  elseif r.state == record.CANCELLED then
    total.count(q, 'cancelled_kept', -1)
  end
end

-- Takes the job out of its set. Returns the worker who held it.
local function take_away(q, id, r, header, lease)
  if not lease then
    ending.leave_set(q, id, r, header)
    return ''
  end
  leave.lease(q, id, r, lease, record.is_member(header) and ended.CANCELLED or nil, header)
  return lease.worker
end

-- Returns how many jobs that were; a job that its worker has completed is completed instead.
local function remove(q, id, r, header)
  local lease = r.lease ~= '' and record.lease(r.lease)
  if lease and closing.is(lease) then
    closing.finish(q, id, r, lease, header)
    return 0
  end
  local worker = take_away(q, id, r, header, lease)
  if record.is_member(header) then
    ending.cancel(q, id, r, header, worker)
    return 1
  end
  order.give_back(q, r, header.client)
  alarm.stop(q, id, header, r.state)
  dedupe.free(q, id, header)
  removal.delete(q, id, r)
  event.add(q, 'cancelled', id, worker, header, '')
  total.count(q, 'cancelled')
  return 1
end

local function stays(q, step, id, r, header)
  local state = record.is_alias(header) and 'alias' or record.STATES[r.state]
  if state ~= step.state and step.state ~= 'ended' then return true end
  if state == 'dead' and record.is_member(header) and batch.is_over(batch.read(q, batch.of(id))) then return true end
  return not search.matches(id, header, r or {errors = ''}, step.filter)
end

local function consider(q, step, entry)
  local job = entry.job
  if not job then
    write.remove(q, step.set, entry.member) -- the job is gone
  elseif stays(q, step, job.id, job.record, job.header) then
    step.score, step.member = entry.score, entry.member
  else
    local is_ended = step.key == 'ended'
    if is_ended then forget_ended(q, job.id, job.record) end
    step.removed = step.removed + (is_ended and 1 or remove(q, job.id, job.record, job.header))
  end
end

return function(q, args)
  local step = open(q, args)
  event.set_actor(q, args[8])
  if #step.entries == 0 then
    if step.key == 'inbound' then lines.unmark(q) end
    return {0, search.next_set(q, step) and 1 or 0, step.score, step.member}
  end
  for _, entry in ipairs(step.entries) do
    if write.is_spent(q) then
      step.more = true
      break
    end
    consider(q, step, entry)
  end
  local more = step.more or search.next_set(q, step)
  action.add(q, args[9], step.removed)
  local reply = commit(q, {step.removed, more and 1 or 0, step.score, step.member})
  if step.key == 'inbound' then lines.unmark(q) end
  return reply
end
