-- desk: what a reserve needs to know of the queue, and of who asks.
local clock = require 'base/clock'
local first_of = require 'base/first'
local text = require 'base/text'
local hand = require 'jobs/hand'
local desk = {}
local call, huge, min, of = redis.call, math.huge, math.min, text.of

-- The queue's settings, as far as they matter here, in a table that is given.
function desk.read(q, d)
  local chosen = call('HMGET', q.settings, 'paused', 'lease_ms', 'max_hold_ms', 'worker_limit', 'warn_ms', 'share_drafts')
  d.is_paused = chosen[1] == '1'
  d.lease_ms = tonumber(chosen[2] or $LEASE_MS)
  d.max_hold = tonumber(chosen[3] or $MAX_HOLD_MS)
  d.worker_limit = tonumber(chosen[4] or $WORKER_LIMIT)
  d.warn_ms = chosen[5] or '$WARN_MS'
  d.shares_drafts = chosen[6] == '1'
  return d
end

function desk.open(q)
  q.desk = q.desk or desk.read(q, {})
end

-- No reservation is longer than may be.
function desk.capped(q, deadline, reserved_at)
  local max_hold = q.desk.max_hold
  return max_hold > 0 and min(deadline, reserved_at + max_hold) or deadline
end

function desk.is_overdue(q)
  return min(first_of(q.reserved), first_of(q.delayed)) <= clock.now(q)
end

-- What is told to all who asked: how many wait, and why there is nothing.
function desk.sight(d, now, waiting, rest)
  return of(now) .. ' ' .. d.warn_ms .. ' ' .. of(waiting) .. ' ' .. rest
end

-- Why there is nothing is looked up only for somebody who was given nothing.
function desk.answer(q, replies, is_hungry)
  local d, now = q.desk, clock.now(q)
  local waiting, blocked, delayed, held, next_ms = call('ZCARD', q.inbound), 0, 0, 0, -1
  if is_hungry then
    blocked, delayed, held = call('ZCARD', q.parked), call('ZCARD', q.delayed), call('ZCARD', q.reserved)
    local next_at = min(first_of(q.reserved), first_of(q.delayed))
    if next_at < huge then next_ms = next_at - now end
  end
  local rest = text.words(of(blocked), of(delayed), of(held), d.is_paused and 1 or 0, of(next_ms))
  return {desk.sight(d, now, waiting, rest), unpack(hand.flat(replies))}
end

return desk
