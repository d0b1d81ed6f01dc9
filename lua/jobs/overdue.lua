-- overdue: one bounded step of what time brings about: reservations past their deadline, delays that fell due.
local record = require 'base/record'
local clock = require 'base/clock'
local write = require 'base/write'
local event = require 'base/event'
local order = require 'jobs/order'
local gate = require 'jobs/gate'
local back = require 'jobs/back'
local overdue = {}

local function fall_due(q, id, r, header)
  if r.score < 0 then
    write.spend(q, 2)
    order.arrive(q, r, r.priority, header.client)
  end
  write.remove(q, 'delayed', id)
  event.tell(q, 'due', id, '', header, '') -- before it is cancelled with its batch
  back.to_line(q, id, r, header)
end

-- How long ago the first of a set should have been moved.
local function lag(q, set, first)
  return first and clock.now(q) - tonumber(redis.call('ZSCORE', set, first)) or 0
end

-- What is known of the first of a set, as many as a step may move: {id, record, header} each. Who is no job goes.
local function read_first(q, key, most)
  local ids, those = redis.call('ZRANGEBYSCORE', q[key], '-inf', clock.now(q), 'LIMIT', 0, most), {}
  if #ids == 0 then return ids, those end
  local lives, headers = redis.call('HMGET', q.live, unpack(ids)), redis.call('HMGET', q.jobs, unpack(ids))
  for i, id in ipairs(ids) do
    if lives[i] and headers[i] then
      those[#those + 1] = {id = id, record = record.live(lives[i]), header = record.header(headers[i])}
    else
      write.remove(q, key, id)
    end
  end
  gate.foresee(q, those)
  return ids, those
end

-- Each step says how many expired, fell due, and died, whether a further step would find more, and the longest lag.
local function expire_first(q, step, most)
  local late, those = read_first(q, 'reserved', most)
  step.lag = lag(q, q.reserved, late[1])
  for _, job in ipairs(those) do
    if write.is_spent(q) then
      step.more = true
      return #late
    end
    local r = job.record
    if r.lease == '' then
      write.remove(q, 'reserved', job.id) -- nobody holds it: it must not stand in the way of the others
    elseif back.expire(q, job.id, r, record.lease(r.lease), job.header) then
      step.died = step.died + 1
    end
    step.expired = step.expired + 1
  end
  step.more = #late >= most
  return #late
end

local function due_first(q, step, most)
  local ready, those = read_first(q, 'delayed', most)
  step.lag = math.max(step.lag, lag(q, q.delayed, ready[1]))
  for _, job in ipairs(those) do
    if write.is_spent(q) then
      step.more = true
      return
    end
    if job.record.state == record.DELAYED then
      fall_due(q, job.id, job.record, job.header)
    else
      write.remove(q, 'delayed', job.id)
    end
    step.due = step.due + 1
  end
  step.more = #ready >= most
end

function overdue.step(q, most)
  local step = {expired = 0, due = 0, died = 0, more = false, lag = 0}
  local late = expire_first(q, step, most)
  if not step.more then due_first(q, step, most - late) end
  return step
end

return overdue
