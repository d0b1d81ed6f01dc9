-- claim: what a completion finds at its reservation, before it changes anything.
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local batch = require 'base/batch'
local ended = require 'jobs/ended'
local closing = require 'jobs/closing'
local result = require 'jobs/result'
local route = require 'jobs/route'
local part = require 'jobs/part'
local claim = {}
local STATES, DEAD = record.STATES, record.DEAD
local DONE, DONE_LATE, EXPIRED, GRACE_OVER = ended.DONE, ended.DONE_LATE, ended.EXPIRED, ended.GRACE_OVER
local unpack_record = struct.unpack

-- The secret, its digest and the result of an argument.
function claim.read(given)
  local secret, digest, stop = unpack_record('>c$ID_LENc$SECRET_DIGEST_SIZE', given)
  return secret, digest, given:sub(stop)
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
local function again(q, job, given)
  local left = text.of(job.deadline - clock.now(q))
  if closing.result(q, job.id) == given then return text.words('closed', 1, left) end
  return {'closing', left}
end

-- The answer to the holder of a live reservation; nil: the completion counts.
function claim.held(q, job, given, resumes)
  -- It was sent before its worker took an earlier one back.
  if resumes >= 0 and resumes < record.undone_at(job.lease) then return {'undone'} end
  if closing.is(job.lease) then return again(q, job, given) end
end

-- The answer to a reservation that has ended, or nil: it is late, and the completion counts. Then its worker and when it began, unless it
-- is not known or the answer is that of the first call.
function claim.ended(q, job, digest, given, resumes)
  local entry, how, worker, reserved_at, note
  if job then entry, how, worker, reserved_at, note = ended.find(job.record, digest) end
  if not entry then return {'lost', 'unknown', ''} end
  local done = how == DONE or how == DONE_LATE
  if done and (result.of(q, job.id) or '') == given then return text.words('again', how == DONE_LATE and 1 or 0) end
  if how == EXPIRED or how == GRACE_OVER then
    if resumes >= 0 and note ~= '' and resumes < tonumber(note) then return {'undone'} end
    if entry == 1 and is_open(q, job, worker) then return nil, worker, reserved_at end
  end
  return {'lost', ended.ENDINGS[how], STATES[job.record.state]}, worker
end

return claim
