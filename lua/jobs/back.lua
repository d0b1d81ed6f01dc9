-- back: moves a job whose reservation has ended: to its place in line, to a delay, or to the dead.
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local write = require 'base/write'
local event = require 'base/event'
local total = require 'base/total'
local stamp = require 'base/stamp'
local batch = require 'base/batch'
local order = require 'jobs/order'
local gate = require 'jobs/gate'
local baton = require 'jobs/baton'
local dedupe = require 'jobs/dedupe'
local ending = require 'jobs/ending'
local leave = require 'jobs/leave'
local closing = require 'jobs/closing'
local route = require 'jobs/route'
local alarm = require 'jobs/alarm'
local back = {}

-- The attempts of a job without a limit of its own; 0 means unlimited.
local function max_attempts(q)
  q.max_attempts = q.max_attempts or tonumber(redis.call('HGET', q.settings, 'max_attempts') or $MAX_ATTEMPTS)
  return q.max_attempts
end

function back.is_out_of_attempts(q, attempts, header)
  local limit = header.max_attempts or max_attempts(q)
  return limit > 0 and attempts >= limit
end

-- Jobs of a cancelled batch do not return.
function back.is_called_off(q, id, header)
  return record.is_member(header) and batch.is_marked(batch.read(q, batch.of(id)), batch.TO_CANCEL)
end

-- Ends a job that must not return. Returns whether it does.
local function ends(q, id, r, header)
  if back.is_called_off(q, id, header) then
    ending.cancel(q, id, r, header, '')
    return true
  end
  if not route.is_over(q, id, header) then return false end
  ending.cancel_expired(q, id, r, header)
  return true
end

function back.to_line(q, id, r, header)
  if not ends(q, id, r, header) then baton.line_up(q, id, r, header) end
end

function back.to_delay(q, id, r, header, delay)
  if ends(q, id, r, header) then return end
  batch.enter(q, id, r, header, record.DELAYED)
  write.add(q, 'delayed', clock.now(q) + delay, id)
  gate.keep(q, id, r)
end

function back.to_dead(q, id, r, header, worker)
  alarm.stop(q, id, header, r.state)
  batch.enter(q, id, r, header, record.DEAD)
  order.give_back(q, r, header.client)
  write.add(q, 'dead', text.of(stamp.new(q)), id)
  gate.keep(q, id, r)
  dedupe.free(q, id, header)
  event.add(q, 'dead', id, worker, header, '')
  total.count(q, 'dead')
end

-- The state that a job has when its reservation ends at its deadline; WAITING for one that goes back to where it belongs. At the expiry of
-- the job both end.
function back.state_after(q, id, r, lease, header)
  if closing.is(lease) then return record.COMPLETED end
  if route.is_over(q, id, header) then return record.CANCELLED end
  local counts = not record.is_marked(lease, record.GRACE)
  return counts and back.is_out_of_attempts(q, r.attempts + 1, header) and record.DEAD or record.WAITING
end

-- Ends a reservation past its deadline.
function back.expire(q, id, r, lease, header)
  local state = back.state_after(q, id, r, lease, header)
  if state == record.COMPLETED then return closing.finish(q, id, r, lease, header) end
  leave.by_time(q, id, r, lease, header, state == record.CANCELLED)
  if state == record.CANCELLED then
    ending.cancel_expired(q, id, r, header)
  elseif state == record.DEAD then
    back.to_dead(q, id, r, header, lease.worker)
  else
    back.to_line(q, id, r, header)
  end
end

return back
