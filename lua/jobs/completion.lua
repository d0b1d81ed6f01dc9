-- completion: the holder reports success, in time or late, for good or for a time in which that can be taken back.
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local total = require 'base/total'
local gate = require 'jobs/gate'
local ended = require 'jobs/ended'
local ending = require 'jobs/ending'
local closing = require 'jobs/closing'
local result = require 'jobs/result'
local route = require 'jobs/route'
local part = require 'jobs/part'
local items = require 'jobs/items'
local claim = require 'jobs/claim'
local completion = {}
local INVALID = {'invalid'}
local DONE, DONE_LATE = ended.DONE, ended.DONE_LATE
local IN_TIME, LATE = 'done' .. ' 0 ', 'done' .. ' 1 ' -- the reply; how long the job was held follows
local pack, unpack_record, min, max = struct.pack, struct.unpack, math.min, math.max

-- `cause`: the total in which its overdue reservation counts, if that ends here.
local function finish(q, job, worker, reserved_at, given, late, cause)
  local by = {worker = worker, reserved_at = reserved_at, at = clock.now(q)}
  local held = ending.complete(q, job.id, job.record, job.header, by, given, late, cause)
  return (late and LATE or IN_TIME) .. held
end

-- Keeps a result that came too late with the job, once: a person's work is never discarded.
local function keep_late(q, job, worker, digest, given)
  local r, id = job.record, job.id
  for slot = 0, min(r.late, $LATE_RESULTS) - 1 do
    local kept = result.of(q, id .. '\0' .. slot)
    if kept then
      local by, _, _, stop = unpack_record('$LATE_FORMAT', kept)
      if by == digest and kept:sub(stop) == given then return end
    end
  end
  local slot = id .. '\0' .. r.late % $LATE_RESULTS
  result.set(q, slot, pack('$LATE_FORMAT', digest, clock.now(q), #worker, worker) .. given)
  r.late = r.late < $MAX_LATE and r.late + 1 or 60001 -- the field's end; the slot stays in step
  gate.keep(q, id, r)
end

local function complete_late(q, job, worker, reserved_at, given)
  ending.leave_set(q, job.id, job.record, job.header)
  ended.end_late(q, job.record)
  part.finish(q, job.id, job.header, worker)
  return finish(q, job, worker, reserved_at, given, true)
end

-- Completes by the live reservation, before or after its deadline.
local function complete_held(q, job, given, undo_ms)
  if undo_ms < 0 then return INVALID end
  local lease = job.lease
  local late, cause = clock.now(q) >= job.deadline, nil
  if undo_ms > 0 and not late then
    closing.start(q, job, given, undo_ms)
    local now = clock.now(q)
    return text.words('closed', 0, text.of(job.deadline - now), text.of(max(now - lease.reserved_at, 0)))
  end
  if late then
    cause = record.is_marked(lease, record.GRACE) and 'abandoned' or 'expired'
    job.record[cause] = job.record[cause] + 1
    total.count(q, cause)
  end
  items.end_reservation(q, job, job.id, late and DONE_LATE or DONE)
  return finish(q, job, lease.worker, lease.reserved_at, given, late, cause)
end

-- Completes by a reservation that has ended: once more, late, or too late.
local function complete_ended(q, job, digest, given, undo_ms, resumes)
  local answer, worker, reserved_at = claim.ended(q, job, digest, given, resumes)
  if undo_ms < 0 then return answer or INVALID end
  if not answer then return complete_late(q, job, worker, reserved_at, given) end
  if worker then keep_late(q, job, worker, digest, given) end
  return answer
end

-- One item: id, and the argument that claim.read reads. `undo_ms`: for how long that can be taken back, 0 = not; below 0: the result does
-- not fit the form of the queue, so it is neither taken nor kept. `resumes`: those that the caller knows of, -1 = any.
function completion.decide(q, id, claimed, undo_ms, resumes)
  local secret, digest, given = claim.read(claimed)
  local job = items.holder(q, id, secret)
  if not job then
    items.touch(q, id, digest)
    return complete_ended(q, q.loaded[id], digest, given, undo_ms, resumes)
  end
  local is_over, is_closing = route.is_over(q, id, job.header), closing.is(job.lease)
  if is_over or is_closing and clock.now(q) >= job.deadline then
    items.expire(q, job)
    return complete_ended(q, job, digest, given, undo_ms, resumes)
  end
  return claim.held(q, job, given, resumes) or complete_held(q, job, given, undo_ms)
end

return completion
