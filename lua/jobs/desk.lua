-- desk: what a reserve needs to know of the queue, and of who asks.
local clock = require 'base/clock'
local text = require 'base/text'
local write = require 'base/write'
local hand = require 'jobs/hand'
local resume = require 'jobs/resume'
local desk = {}
local call, huge, min, words = redis.call, math.huge, math.min, text.words

local function first_of(key)
  return tonumber(call('ZRANGE', key, '0', '0', 'WITHSCORES')[2] or huge)
end

-- `mine`: what each worker holds, as far as it was read; `touched`: who has been served by this call; `priorities`: which
-- were handed out; `passed_over`: how many skipped jobs let others come in their stead.
function desk.open(q)
  local chosen = call('HMGET', q.settings, 'paused', 'lease_ms', 'max_hold_ms', 'worker_limit', 'warn_ms', 'share_drafts')
  local max_hold = tonumber(chosen[3] or $MAX_HOLD_MS)
  q.desk = {
    is_paused = chosen[1] == '1', lease_ms = tonumber(chosen[2] or $LEASE_MS),
    worker_limit = tonumber(chosen[4] or $WORKER_LIMIT), warn_ms = tonumber(chosen[5] or $WARN_MS),
    shares_drafts = chosen[6] == '1', mine = {}, touched = {}, priorities = {}, passed_over = 0,
    capped = function(deadline, reserved_at)
      return max_hold > 0 and min(deadline, reserved_at + max_hold) or deadline
    end,
  }
end

function desk.is_overdue(q)
  return min(first_of(q.reserved), first_of(q.delayed)) <= clock.now(q)
end

-- What the caller holds, if that matters for the call; else what this very call was given before.
function desk.holdings(q, asks)
  local d, worker = q.desk, asks.worker
  local who = worker ~= '' and worker or asks.nonce
  if d.touched[who] or asks.mode == 'this' then write.so_far(q) end
  d.touched[who] = true
  local all = worker ~= '' and (d.worker_limit > 0 or asks.mode == 'resume')
  if not all then return resume.holdings(q, worker, asks.nonce, false) end
  d.mine[who] = d.mine[who] or resume.holdings(q, worker, asks.nonce, true)
  return d.mine[who]
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
  local sight = words(waiting, blocked, delayed, held, d.is_paused and 1 or 0, text.of(next_ms))
  return {words(text.of(now), d.warn_ms), sight, hand.pack(replies)}
end

return desk
