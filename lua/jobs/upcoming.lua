-- upcoming: when the sweep next has work in a queue.
local clock = require 'base/clock'
local first_of = require 'base/first'
local batch = require 'base/batch'
local upcoming = {MIN_KEPT_MS = 10000}
local call, huge, min = redis.call, math.huge, math.min

-- Finished batches sort before those with a running timer.
local function first_timer(q, retention)
  local first = first_of(q.timers)
  if first >= 0 then return first end
  local runs = call('ZRANGEBYSCORE', q.timers, '0', '+inf', 'WITHSCORES', 'LIMIT', '0', '1')[2]
  return min(first + batch.OVER + retention, tonumber(runs or huge))
end

-- In ms; 0 for overdue, -1 for never.
local function from_now(q, soonest)
  return soonest < huge and math.max(soonest - clock.now(q), 0) or -1
end

-- When time next does something to a job that has not ended.
function upcoming.urgent_ms(q)
  return from_now(q, min(first_of(q.reserved), first_of(q.delayed), first_of(q.alarms)))
end

-- The same for all work of the sweep. Ended jobs beyond `max_kept` go as soon as they are older than MIN_KEPT_MS. `alarm`: when the first alarm
-- goes off.
function upcoming.next_ms(q, retention, max_kept, alarm)
  local kept_for = retention
  if call('ZCARD', q.ended) > max_kept then kept_for = min(retention, upcoming.MIN_KEPT_MS) end
  local ended = first_of(q.ended)
  local forget = ended < huge and clock.ms_of(ended) + kept_for or huge
  local soonest = min(first_of(q.reserved), first_of(q.delayed), forget, first_timer(q, retention), alarm)
  return from_now(q, soonest)
end

return upcoming
