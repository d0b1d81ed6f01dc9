-- items: finds the reservation of each item of a list. The first argument of an item is the id of its job.
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local write = require 'base/write'
local gate = require 'jobs/gate'
local loaded = require 'jobs/loaded'
local ended = require 'jobs/ended'
local leave = require 'jobs/leave'
local back = require 'jobs/back'
local route = require 'jobs/route'
local closing = require 'jobs/closing'
local ending = require 'jobs/ending'
local items = {}

-- Loads the jobs of all items at once, with their deadlines and leases.
function items.read(q, args, stride)
  local ids, all = {}, loaded.all(q)
  for i = 1, #args, stride do ids[#ids + 1] = args[i] end
  local lives, headers = redis.call('HMGET', q.live, unpack(ids)), redis.call('HMGET', q.jobs, unpack(ids))
  local deadlines, routed = redis.call('ZMSCORE', q.reserved, unpack(ids)), {}
  for i = 1, #ids do
    local id = ids[i]
    if lives[i] and headers[i] and not all[id] then
      local r, header = record.live(lives[i]), record.header(headers[i])
      all[id] = {
        id = id, record = r, header = header, deadline = tonumber(deadlines[i] or 0),
        lease = r.lease ~= '' and record.lease(r.lease) or nil,
      }
      if record.is_routed(header) then routed[#routed + 1] = id end
    end
  end
  route.read(q, routed)
end

-- Loads the gates of the jobs whose reservations this list ends.
function items.prefetch_ends(q)
  local those = {}
  for _, job in pairs(q.loaded) do
    if job.lease and record.is_gated(job.header) then those[#those + 1] = job end
  end
  if #those > 0 then gate.prefetch(q, those) end
end

-- The job, if `secret` is its live reservation.
function items.holder(q, id, secret)
  local job = q.loaded[id]
  if job and job.lease and job.lease.secret == secret then return job end
end

-- Ends the reservation of a job at its deadline.
function items.expire(q, job)
  back.expire(q, job.id, job.record, job.lease, job.header)
  job.lease = nil
end

-- A job that a call names by an older reservation ends here if it has expired and is not yet swept.
function items.touch(q, id, digest)
  local job = q.loaded[id]
  if job and not job.lease and ended.find(job.record, digest) then ending.expire(q, id, job.record, job.header) end
end

-- The holder, also of a completion that may be taken back; but a reservation that is overdue and not yet swept ends here, and no call
-- revives it.
function items.current(q, id, secret, digest)
  local job = items.holder(q, id, secret)
  if not job then return items.touch(q, id, digest) end
  -- A move to a Redis with another clock may have left a deadline beyond the expiry.
  if route.is_over(q, id, job.header) then return items.expire(q, job) end
  if clock.now(q) < job.deadline then return job end
  items.expire(q, job)
end

-- The holder who may still work.
function items.live_holder(q, id, secret, digest)
  local job = items.current(q, id, secret, digest)
  return job and not closing.is(job.lease) and job or nil
end

-- The reply to a caller who is not the holder; `how` is what an earlier run of the same call would have left.
function items.refuse(q, id, digest, how)
  local job = q.loaded[id]
  local lease = job and job.lease
  if lease and lease.digest == digest and closing.is(lease) then return {'closing', text.of(job.deadline - clock.now(q))} end
  return ended.answer(job, digest, how)
end

-- Decides item by item until the budget is spent; the caller sends the rest again in the same order.
function items.each(q, args, stride, decide)
  local replies = {}
  for at = 1, #args, stride do
    replies[#replies + 1] = write.is_spent(q) and {'later'} or decide(q, args, at)
  end
  return replies
end

-- Ends the reservation.
function items.end_reservation(q, job, id, how, note)
  leave.lease(q, id, job.record, job.lease, how, job.header, note)
  job.lease = nil
end

return items
