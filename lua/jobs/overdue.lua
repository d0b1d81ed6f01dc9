-- overdue: one bounded step of the sweep: reservations past their deadline, and delays that are over.
local record = require 'base/record'
local clock = require 'base/clock'
local record_bytes = require 'base/record_bytes'
local text = require 'base/text'
local write = require 'base/write'
local gate = require 'jobs/gate'
local expire_fast = require 'jobs/expire_fast'
local lapse = require 'jobs/lapse'
local overdue = {}
-- The cost of a job in a step, by the fast path and by the full one.
local LIGHT, HEAVY = 1, 4

local STATE_IN = {reserved = record.RESERVED, delayed = record.DELAYED}

-- The first jobs of a set: ids, when each was due, live records, records, and the headers of gated jobs.
local function read_first(q, set, budget)
  local found = redis.call('ZRANGEBYSCORE', set, '-inf', text.of(clock.now(q)), 'WITHSCORES', 'LIMIT', '0', text.of(budget))
  local ids, times = {}, {}
  for i = 1, #found, 2 do ids[#ids + 1], times[#times + 1] = found[i], tonumber(found[i + 1]) end
  if #ids == 0 then return ids, times end
  local lives, raws = redis.call('HMGET', q.live, unpack(ids)), redis.call('HMGET', q.jobs, unpack(ids))
  local headers, gated = {}, {}
  for i, id in ipairs(ids) do
    if raws[i] and record_bytes.is_gated(raws[i]) then
      headers[i] = record.header(raws[i])
      gated[#gated + 1] = {id = id, header = headers[i]}
    end
  end
  gate.prefetch(q, gated)
  return ids, times, lives, raws, headers
end

-- A job that the fast path does not handle. Returns its state.
local function move_whole(q, key, id, live, header, at)
  local r = record.live(live)
  if r.state == STATE_IN[key] then
    lapse.job(q, id, r, header, at)
  else
    write.remove(q, key, id) -- a stale member would block the others
  end
  return r.state
end

-- Moves the first jobs of a set within the budget of the step. `light` is the fast path and returns false for an unusual job. Returns how
-- many there were, and of these were completed, because their worker took nothing back.
local function move_first(q, step, key, light)
  local budget, moved, completed = step.room, 0, 0
  local ids, times, lives, raws, headers = read_first(q, q[key], budget)
  step.lag = math.max(step.lag, clock.now(q) - (times[1] or clock.now(q)))
  for i, id in ipairs(ids) do
    local live, raw = lives[i], raws[i]
    if step.room <= 0 or write.is_spent(q) then
      step.more = true
      return moved, completed
    elseif not live or not raw then
      write.remove(q, key, id) -- the job is gone
    else
      local is_light = not headers[i] and light(q, id, live, raw)
      local state = not is_light and move_whole(q, key, id, live, headers[i] or record.header(raw), times[i])
      if state == record.DEAD then step.died = step.died + 1 end
      if state == record.COMPLETED then completed = completed + 1 end
      step.room, moved = step.room - (is_light and LIGHT or HEAVY), moved + 1
    end
  end
  step.more = #ids >= budget
  return moved, completed
end

-- Returns how many expired, fell due and died, how many were completed, whether more is overdue, and the longest lag.
function overdue.step(q, budget)
  local step = {room = budget, expired = 0, due = 0, died = 0, completed = 0, more = false, lag = 0}
  step.expired, step.completed = move_first(q, step, 'reserved', expire_fast.expire)
  step.expired = step.expired - step.completed
  if step.room <= 0 then
    step.more = true
  elseif not step.more then
    step.due = move_first(q, step, 'delayed', expire_fast.fall_due)
  end
  return step
end

return overdue
