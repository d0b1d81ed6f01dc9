-- closing: a job that its worker has completed and may take back for a short time. For everybody else it is reserved, for its worker it is
-- over: no longer in `held`. Its result is stored apart, and at the deadline, or when it would be taken from the worker, it is completed.
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local write = require 'base/write'
local event = require 'base/event'
local gate = require 'jobs/gate'
local ended = require 'jobs/ended'
local ending = require 'jobs/ending'
local leave = require 'jobs/leave'
local result = require 'jobs/result'
local route = require 'jobs/route'
local closing = {}
-- The pending completion: when it was completed, the deadline that its reservation had but for the expiry of the job, the result.
local PENDING = '>I6I6'
local pack, unpack_struct, band, max = struct.pack, struct.unpack, bit.band, math.max

local function field(id)
  return id .. '\0c'
end

local function read(q, id)
  local pending = result.of(q, field(id))
  local at, deadline, stop = unpack_struct(PENDING, pending)
  return at, deadline, pending:sub(stop)
end

local function mark(q, job, marks)
  job.lease.marks = marks
  job.record.lease = record.pack_lease(job.lease)
  write.add(q, 'reserved', text.of(job.deadline), job.id)
  gate.keep(q, job.id, job.record)
end

function closing.is(lease)
  return record.is_marked(lease, record.CLOSING)
end

-- Completes a job unless that is taken back within `ms`, or before the job expires.
function closing.start(q, job, given, ms)
  local id, lease, now = job.id, job.lease, clock.now(q)
  result.set(q, field(id), pack(PENDING, now, route.uncut(q, id, job.header, job.deadline)) .. given)
  job.deadline = route.cut(q, id, job.header, now + ms)
  write.remove(q, 'held', record.held(lease, id))
  mark(q, job, band(lease.marks, record.EVER_UNDONE) + record.CLOSING)
  event.add(q, 'closing', id, lease.worker, job.header, text.of(job.deadline - now))
end

-- What the worker has handed in.
function closing.result(q, id)
  local _, _, given = read(q, id)
  return given
end

-- Its worker takes the completion back: the job is held again, for as long as it was handed out for and at least for as long as was left.
-- `deadline` is that by the settings of the queue. Returns what had been handed in.
function closing.take_back(q, job, deadline)
  local id, lease, now = job.id, job.lease, clock.now(q)
  local at, before, given = read(q, id)
  job.deadline = route.cut(q, id, job.header, max(deadline, now + before - at))
  lease.resumes = lease.resumes + 1
  write.add(q, 'held', '0', record.held(lease, id))
  mark(q, job, record.UNDONE)
  result.drop(q, field(id))
  event.add(q, 'undone', id, lease.worker, job.header, '')
  return given
end

-- Completes the job for good.
function closing.finish(q, id, r, lease, header)
  local at, _, given = read(q, id)
  leave.lease(q, id, r, lease, ended.DONE, header, '', at)
  result.drop(q, field(id))
  ending.complete(q, id, r, header, {worker = lease.worker, reserved_at = lease.reserved_at, at = at}, given, false)
end

return closing
