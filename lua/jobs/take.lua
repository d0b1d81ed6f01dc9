-- take: reserves a job of the line, or parks it at a gate without room.
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local write = require 'base/write'
local event = require 'base/event'
local total = require 'base/total'
local batch = require 'base/batch'
local order = require 'jobs/order'
local gate = require 'jobs/gate'
local loaded = require 'jobs/loaded'
local baton = require 'jobs/baton'
local line = require 'jobs/line'
local source = require 'jobs/source'
local route = require 'jobs/route'
local lines = require 'jobs/lines'
local part = require 'jobs/part'
local routing = require 'jobs/routing'
local ask = require 'jobs/ask'
local handout = require 'jobs/handout'
local reserve_context = require 'jobs/reserve_context'
local take = {}
local PRIORITY = 1 -- commands for each further priority in the order

-- The job of an entry of a line {id, record, header, raw, member, fresh, is_over, rule, full}: decoded once for all calls of a script. `fresh`:
-- it was never reserved; `is_over`: it has expired, and the sweep will cancel it.
local function job_of(q, entry)
  if entry.job then return entry.job end
  local id, score, live, header = entry.id, entry.place, entry.live, source.header(entry)
  local r = live and record.live(live) or record.new(record.WAITING, score, header.priority, header.stamp)
  r.score = score
  local job = {id = id, record = r, header = header, raw = entry.raw, member = entry.member, fresh = not live, is_over = false}
  if record.is_routed(header) then
    line.prefetch_routes(q)
    job.is_over = route.is_over(q, id, header)
  end
  entry.job = job
  return job
end

-- The job as this caller sees it. `rule`: what keeps the caller from it; `full`: its first gate without room. While a script hands out jobs,
-- no gate gets room.
function take.look_at(q, call, entry)
  local job = job_of(q, entry)
  local id, header = job.id, job.header
  if record.is_routed(header) then job.rule = routing.rule(q, id, header, call.worker, call.skills) end
  if not record.is_gated(header) then return job end
  loaded.all(q)[id] = job
  line.prefetch(q)
  job.full = job.full or gate.full(q, id, header)
  return job
end

-- Parks the job at its first gate without room: a call before may have filled another one than when the job was looked at first.
function take.block(q, job)
  local name = gate.full(q, job.id, job.header)
  lines.leave(q, job.id, job.record, job.header)
  baton.park(q, job.id, job.record, job.header, name)
  baton.pass_all(q, job.id, job.header)
  event.add(q, 'blocked', job.id, '', job.header, '')
end

local function leave_line(q, job)
  if record.is_gated(job.header) then
    gate.occupy(q, job.id, job.header)
  elseif not record.is_routed(job.header) then
    return write.remove(q, 'inbound', job.member)
  end
  lines.leave(q, job.id, job.record, job.header)
end

local function give_lease(q, job, call, i, lease_ms)
  local secret, digest = ask.claim(call, i)
  local packed = record.new_lease(secret, digest, call.nonce, clock.now(q), lease_ms, call.worker)
  local mine = q.served.mine[call.worker]
  local lease = mine and record.lease(packed)
  if mine then mine[#mine + 1] = {id = job.id, record = job.record, lease = lease} end
  job.record.lease = packed
end

local function count_priority(q, priority)
  if not q.served.priorities[priority] then
    q.served.priorities[priority] = true
    write.spend(q, PRIORITY)
  end
end

-- Reserves the i-th job of a call and returns it for the reply.
function take.job(q, job, call, i, first_passed)
  local id, r, header, now = job.id, job.record, job.header, clock.now(q)
  local lease_ms = call.lease_ms > 0 and call.lease_ms or header.lease_ms or q.context.lease_ms
  local deadline = route.cut(q, id, header, reserve_context.capped(q, now + lease_ms, now))
  batch.enter(q, id, r, header, record.RESERVED)
  r.handed_out = r.handed_out + 1
  count_priority(q, order.hand_out(q, r, header.client, first_passed))
  leave_line(q, job)
  give_lease(q, job, call, i, lease_ms)
  part.take(q, id, header, call.worker)
  local packed = record.pack(r)
  write.add(q, 'reserved', text.of(deadline), id)
  write.add(q, 'held', '0', call.worker .. '\0' .. call.nonce .. '\0' .. id)
  write.set(q, 'live', id, packed)
  event.add(q, 'reserved', id, call.worker, header, call.access)
  total.count(q, 'handed_out')
  return handout.show(q, id, job.raw, packed, deadline, call, routing.take(q, id, header), job.fresh)
end

return take
