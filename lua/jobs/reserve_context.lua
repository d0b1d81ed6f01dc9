-- reserve_context: the settings and counts that a reserve needs.
local clock = require 'base/clock'
local first_of = require 'base/first'
local text = require 'base/text'
local handout = require 'jobs/handout'
local reserve_context = {}
local call, huge, min, of = redis.call, math.huge, math.min, text.of

local function read(q)
  local chosen = call('HMGET', q.settings, 'paused', 'lease_ms', 'max_hold_ms', 'worker_limit', 'warn_ms', 'share_drafts', 'routed')
  return {
    is_paused = chosen[1] == '1',
    lease_ms = tonumber(chosen[2] or $LEASE_MS),
    max_hold = tonumber(chosen[3] or $MAX_HOLD_MS),
    worker_limit = tonumber(chosen[4] or $WORKER_LIMIT),
    warn_ms = chosen[5] or '$WARN_MS',
    shares_drafts = chosen[6] == '1',
    is_routed = chosen[7] == '1',
  }
end

function reserve_context.open(q)
  q.context = q.context or read(q)
end

-- A deadline within the maximum hold of the queue.
function reserve_context.capped(q, deadline, reserved_at)
  local max_hold = q.context.max_hold
  return max_hold > 0 and min(deadline, reserved_at + max_hold) or deadline
end

function reserve_context.is_overdue(q)
  return min(first_of(q.reserved), first_of(q.delayed)) <= clock.now(q)
end

-- The reply; its first field is time, counts, and the reason for an empty answer. That costs reads, so it is looked up only if a call got nothing.
function reserve_context.answer(q, replies, has_empty)
  local d, now = q.context, clock.now(q)
  local waiting, blocked, delayed, held, next_ms = call('ZCARD', q.inbound), 0, 0, 0, -1
  if has_empty then
    blocked, delayed, held = call('ZCARD', q.parked), call('ZCARD', q.delayed), call('ZCARD', q.reserved)
    local next_at = min(first_of(q.reserved), first_of(q.delayed))
    if next_at < huge then next_ms = next_at - now end
  end
  local state = text.words(of(now), d.warn_ms, of(waiting), of(blocked), of(delayed), of(held), d.is_paused and 1 or 0, of(next_ms))
  return {state, unpack(handout.flat(replies))}
end

return reserve_context
