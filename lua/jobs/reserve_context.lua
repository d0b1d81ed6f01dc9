-- reserve_context: the settings and counts that a reserve needs.
local clock = require 'base/clock'
local first_of = require 'base/first'
local text = require 'base/text'
local handout = require 'jobs/handout'
local reserve_context = {}
local call, huge, min, of = redis.call, math.huge, math.min, text.of

-- Reads the settings of a reserve into the table `d`.
function reserve_context.read(q, d)
  local chosen = call('HMGET', q.settings, 'paused', 'lease_ms', 'max_hold_ms', 'worker_limit', 'warn_ms', 'share_drafts', 'routed')
  d.is_paused = chosen[1] == '1'
  d.lease_ms = tonumber(chosen[2] or $LEASE_MS)
  d.max_hold = tonumber(chosen[3] or $MAX_HOLD_MS)
  d.worker_limit = tonumber(chosen[4] or $WORKER_LIMIT)
  d.warn_ms = chosen[5] or '$WARN_MS'
  d.shares_drafts = chosen[6] == '1'
  d.is_routed = chosen[7] == '1'
  return d
end

function reserve_context.open(q)
  q.context = q.context or reserve_context.read(q, {})
end

-- A deadline within the maximum hold of the queue.
function reserve_context.capped(q, deadline, reserved_at)
  local max_hold = q.context.max_hold
  return max_hold > 0 and min(deadline, reserved_at + max_hold) or deadline
end

function reserve_context.is_overdue(q)
  return min(first_of(q.reserved), first_of(q.delayed)) <= clock.now(q)
end

-- The first field of the reply: time, counts, and the reason for an empty answer.
function reserve_context.snapshot(d, now, waiting, rest)
  return of(now) .. ' ' .. d.warn_ms .. ' ' .. of(waiting) .. ' ' .. rest
end

-- The reason for an empty answer costs reads, so it is looked up only if a call got nothing.
function reserve_context.answer(q, replies, has_empty)
  local d, now = q.context, clock.now(q)
  local waiting, blocked, delayed, held, next_ms = call('ZCARD', q.inbound), 0, 0, 0, -1
  if has_empty then
    blocked, delayed, held = call('ZCARD', q.parked), call('ZCARD', q.delayed), call('ZCARD', q.reserved)
    local next_at = min(first_of(q.reserved), first_of(q.delayed))
    if next_at < huge then next_ms = next_at - now end
  end
  local rest = text.words(of(blocked), of(delayed), of(held), d.is_paused and 1 or 0, of(next_ms))
  return {reserve_context.snapshot(d, now, waiting, rest), unpack(handout.flat(replies))}
end

return reserve_context
