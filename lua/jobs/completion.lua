-- completion: the holder reports success, in time or late, for good or for a time in which that can be taken back.
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local total = require 'base/total'
local batch = require 'base/batch'
local gate = require 'jobs/gate'
local ended = require 'jobs/ended'
local ending = require 'jobs/ending'
local closing = require 'jobs/closing'
local result = require 'jobs/result'
local route = require 'jobs/route'
local part = require 'jobs/part'
local items = require 'jobs/items'
local completion = {}
local STATES, DEAD = record.STATES, record.DEAD
local DONE, DONE_LATE, GRACE_OVER = ended.DONE, ended.DONE_LATE, ended.GRACE_OVER
local pack, unpack_record, min, max = struct.pack, struct.unpack, math.min, math.max

-- `cause`: the total in which its overdue reservation counts, if that ends here.
local function finish(q, job, worker, reserved_at, given, late, cause)
  local by = {worker = worker, reserved_at = reserved_at, at = clock.now(q)}
  local held = ending.complete(q, job.id, job.record, job.header, by, given, late, cause)
  return text.words('done', late and 1 or 0, text.of(held))
end

-- Keeps a result that came too late with the job, once: a person's work is never discarded.
local function keep_late(q, job, worker, digest, given)
  local r, id = job.record, job.id
  for slot = 0, min(r.late, $LATE_RESULTS) - 1 do
    local kept = result.of(q, id .. '\0' .. slot)
    if kept then
      local by, _, _, stop = unpack_record('>c8I6Bc0', kept)
      if by == digest and kept:sub(stop) == given then return end
    end
  end
  local slot = id .. '\0' .. r.late % $LATE_RESULTS
  result.set(q, slot, pack('>c8I6Bc0', digest, clock.now(q), #worker, worker) .. given)
  r.late = r.late < 65535 and r.late + 1 or 60001 -- the field's end; the slot stays in step
  gate.keep(q, id, r)
end

local function complete_late(q, job, worker, reserved_at, given)
  ending.leave_set(q, job.id, job.record, job.header)
  ended.end_late(q, job.record)
  part.finish(q, job.id, job.header, worker)
  return finish(q, job, worker, reserved_at, given, true)
end

-- The job is not reserved, the outcome of its batch is not written yet, and the worker has had no other of an overlap since.
local function is_open(q, job, worker)
  local state = job.record.state
  -- No work counts at the expiry of its job, or later.
  if route.is_over(q, job.id, job.header) then return false end
  if part.keeps_from(q, job.id, job.header, worker) then return false end
  if state == DEAD then
    return not record.is_member(job.header) or not batch.is_over(batch.read(q, batch.of(job.id)))
  end
  return state == record.WAITING or state == record.BLOCKED
end

-- A repeated call gets the answer of the first, and its time runs on.
local function complete_again(q, job, given)
  local left = text.of(job.deadline - clock.now(q))
  if closing.result(q, job.id) == given then return text.words('closed', 1, left) end
  return {'closing', left}
end

-- Completes by the live reservation, before or after its deadline.
local function complete_held(q, job, given, undo_ms)
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
local function complete_ended(q, job, digest, given, resumes)
  local entry, how, worker, reserved_at, note
  if job then entry, how, worker, reserved_at, note = ended.find(job.record, digest) end
  if not entry then return {'lost', 'unknown', ''} end
  local done = how == DONE or how == DONE_LATE
  if done and (result.of(q, job.id) or '') == given then return text.words('again', how == DONE_LATE and 1 or 0) end
  if how == ended.EXPIRED or how == GRACE_OVER then
    if resumes >= 0 and note ~= '' and resumes < tonumber(note) then return {'undone'} end
    if entry == 1 and is_open(q, job, worker) then return complete_late(q, job, worker, reserved_at, given) end
  end
  keep_late(q, job, worker, digest, given)
  return {'lost', ended.ENDINGS[how], STATES[job.record.state]}
end

-- One item: id, and the claim: secret, digest of the secret, and behind them the result. `undo_ms`: for how long that can be taken back, 0 =
-- not; `resumes`: those that the caller knows of, -1 = any.
function completion.decide(q, id, claim, undo_ms, resumes)
  local secret, digest, stop = unpack_record('>c$ID_LENc8', claim)
  local given, job = claim:sub(stop), items.holder(q, id, secret)
  if not job then
    items.touch(q, id, digest)
    return complete_ended(q, q.loaded[id], digest, given, resumes)
  end
  local lease, is_over = job.lease, route.is_over(q, id, job.header)
  local is_closing = closing.is(lease)
  if is_over or is_closing and clock.now(q) >= job.deadline then
    items.expire(q, job)
    return complete_ended(q, job, digest, given, resumes)
  end
  -- It was sent before its worker took an earlier one back.
  if resumes >= 0 and resumes < record.undone_at(lease) then return {'undone'} end
  if is_closing then return complete_again(q, job, given) end
  return complete_held(q, job, given, undo_ms)
end

return completion
