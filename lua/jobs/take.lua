-- take: a job leaves the line and is somebody's; or it meets a gate without room, and is parked there.
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local write = require 'base/write'
local event = require 'base/event'
local total = require 'base/total'
local batch = require 'base/batch'
local place = require 'jobs/place'
local order = require 'jobs/order'
local gate = require 'jobs/gate'
local known = require 'jobs/known'
local baton = require 'jobs/baton'
local line = require 'jobs/line'
local ask = require 'jobs/ask'
local hand = require 'jobs/hand'
local desk = require 'jobs/desk'
local take = {}
local PRIORITY = 1 -- what the order of one more priority asks for

-- The job {id, record, header, raw}, and the first of its gates that has no room. `fresh`: nothing has happened to it yet.
function take.look_at(q, id, score, raw, live)
  local header = record.header(raw)
  local r = live and record.live(live) or record.new(record.WAITING, score, header.priority, header.stamp)
  r.score = score
  local job = {id = id, record = r, header = header, raw = raw, fresh = not live}
  if not record.is_gated(header) then return job end
  known.all(q)[id] = job
  line.foresee(q)
  return job, gate.full(q, id, header)
end

function take.block(q, job, name)
  baton.leave_line(q, job.id, job.record)
  baton.park(q, job.id, job.record, job.header, name)
  baton.pass_all(q, job.id, job.header)
  event.tell(q, 'blocked', job.id, '', job.header, '')
end

local function leave_line(q, job)
  if not record.is_gated(job.header) then
    return write.remove(q, 'inbound', place.member(job.id, job.record.arrival))
  end
  gate.occupy(q, job.id, job.header)
  baton.leave_line(q, job.id, job.record)
end

local function give_lease(q, job, call, i, lease_ms)
  local secret, digest = ask.claim(call, i)
  local lease = {
    secret = secret, digest = digest, nonce = call.nonce, reserved_at = clock.now(q), ms = lease_ms, resumes = 0,
    marks = 0, worker = call.worker,
  }
  job.record.lease = record.pack_lease(lease)
  local mine = q.served.mine[call.worker]
  if mine then mine[#mine + 1] = {id = job.id, record = job.record, lease = lease} end
end

local function count_priority(q, score)
  local priority = order.priority_of(score)
  if not q.served.priorities[priority] then
    q.served.priorities[priority] = true
    write.spend(q, PRIORITY)
  end
end

-- The i-th job that a call is given. Answers what is shown of it.
function take.job(q, job, call, i, first_passed)
  local id, r, header, now = job.id, job.record, job.header, clock.now(q)
  local lease_ms = call.lease_ms > 0 and call.lease_ms or header.lease_ms or q.desk.lease_ms
  local deadline = desk.capped(q, now + lease_ms, now)
  batch.enter(q, id, r, header, record.RESERVED)
  r.handed_out = r.handed_out + 1
  order.handed_out(q, r.score, first_passed)
  order.give_back(q, r, header.client)
  leave_line(q, job)
  give_lease(q, job, call, i, lease_ms)
  count_priority(q, r.score)
  local packed = record.pack(r)
  write.add(q, 'reserved', text.of(deadline), id)
  write.add(q, 'held', '0', call.worker .. '\0' .. call.nonce .. '\0' .. id)
  write.set(q, 'live', id, packed)
  event.tell(q, 'reserved', id, call.worker, header, '')
  total.count(q, 'handed_out')
  return hand.shown(q, id, job.raw, packed, deadline, call.worker, job.fresh)
end

return take
