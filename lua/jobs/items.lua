-- items: what the reservation of each item of a list stands for. An item's first argument is its job's id.
local record = require 'base/record'
local clock = require 'base/clock'
local write = require 'base/write'
local gate = require 'jobs/gate'
local known = require 'jobs/known'
local leave = require 'jobs/leave'
local back = require 'jobs/back'
local items = {}

-- Reads everything about the items at once: `known` has their deadlines and leases, too.
function items.read(q, args, stride)
  local ids, all = {}, known.all(q)
  for i = 1, #args, stride do ids[#ids + 1] = args[i] end
  local lives, headers = redis.call('HMGET', q.live, unpack(ids)), redis.call('HMGET', q.jobs, unpack(ids))
  local deadlines = redis.call('ZMSCORE', q.reserved, unpack(ids))
  for i, id in ipairs(ids) do
    if lives[i] and headers[i] and not all[id] then
      local r = record.live(lives[i])
      all[id] = {
        id = id, record = r, header = record.header(headers[i]), deadline = tonumber(deadlines[i] or 0),
        lease = r.lease ~= '' and record.lease(r.lease) or nil,
      }
    end
  end
end

-- The gates of those whose reservations end by this list, at once.
function items.foresee_ends(q)
  local those = {}
  for _, job in pairs(q.known) do
    if job.lease and record.is_gated(job.header) then those[#those + 1] = job end
  end
  if #those > 0 then gate.foresee(q, those) end
end

-- The job, if `secret` is the reservation that is out.
function items.holder(q, id, secret)
  local job = q.known[id]
  if job and job.lease and job.lease.secret == secret then return job end
end

-- The job, if `secret` is live. One that is overdue and not yet swept expires here, and nobody's call revives it.
function items.live_holder(q, id, secret)
  local job = items.holder(q, id, secret)
  if not job then return end
  if clock.now(q) < job.deadline then return job end
  back.expire(q, id, job.record, job.lease, job.header)
  job.lease = nil
end

-- Each item in its turn, as long as the call may go on; those that are left come again, and in their order.
function items.each(q, args, stride, decide)
  local replies = {}
  for at = 1, #args, stride do
    replies[#replies + 1] = write.is_spent(q) and {'later'} or decide(q, args, at)
  end
  return replies
end

-- Its reservation ends.
function items.let_go(q, job, id, how, note)
  leave.lease(q, id, job.record, job.lease, how, job.header, note)
  job.lease = nil
end

return items
