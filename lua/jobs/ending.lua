-- ending: completes or cancels a job. Its records stay for the retention time; those of a batch's job as long as the batch.
local record = require 'base/record'
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
local route = require 'jobs/route'
local alarm = require 'jobs/alarm'
local result = require 'jobs/result'
local ending = {}
local COMPLETED, CANCELLED = record.COMPLETED, record.CANCELLED
local of, max = text.of, math.max

function ending.finish(q, id, r, header, state)
  local ended = stamp.new(q)
  if r.score >= 0 then r.priority = order.priority_of(r.score) end
  order.give_back(q, r, header.client)
  alarm.stop(q, id, header, r.state)
  batch.enter(q, id, r, header, state)
  if record.is_member(header) then
    r.score = ended
    total.count(q, state == COMPLETED and 'batch_completed_kept' or 'batch_cancelled_kept')
  else
    r.score = -1
    write.add(q, 'ended', text.of(ended), id)
    if state == CANCELLED then total.count(q, 'cancelled_kept') end
  end
  r.skips = ''
  write.delete(q, 'drafts', id)
  gate.keep(q, id, r)
  dedupe.free(q, id, header)
end

-- Completes the job; the note of the event is reserved at, held ms, `late`, and the total in which an overdue reservation counts, because
-- no other event says that. Returns how long it was held, as text.
function ending.complete(q, id, r, header, by, given, late, cause)
  local held = of(max(by.at - by.reserved_at, 0))
  result.set(q, id, given)
  ending.finish(q, id, r, header, COMPLETED)
  local note = of(by.reserved_at) .. ' ' .. held
  if late then note = note .. ' late' end
  if cause then note = note .. ' ' .. cause end
  event.add(q, 'completed', id, by.worker, header, note)
  total.count(q, 'completed')
  return held
end

-- Takes a job that is not reserved out of its set; one in line passes the batons of its gates.
function ending.leave_set(q, id, r, header)
  if r.state == record.BLOCKED then
    baton.unpark(q, id, r)
  elseif r.state ~= record.WAITING then
    write.remove(q, r.state == record.DELAYED and 'delayed' or 'dead', id)
  else
    baton.step_out(q, id, r, header)
  end
end

-- Cancels a job that has left its set. `reason` is the note of the event.
function ending.cancel(q, id, r, header, worker, reason)
  ending.finish(q, id, r, header, CANCELLED)
  event.add(q, 'cancelled', id, worker, header, reason or '')
  total.count(q, 'cancelled')
end

-- The same for a job that has expired.
function ending.cancel_expired(q, id, r, header)
  ending.cancel(q, id, r, header, '', 'expired')
  route.mark(q, id, route.of(q, id, header), route.OVER)
end

-- A job that waits, is blocked or delayed: it ends here if it has expired, swept or not. Returns whether it does.
function ending.expire(q, id, r, header)
  if not route.is_over_in(q, id, header, r.state) then return false end
  ending.leave_set(q, id, r, header)
  ending.cancel_expired(q, id, r, header)
  return true
end

return ending
