-- overdue: one bounded step of the sweep: reservations past their deadline, and delays that are over.
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local write = require 'base/write'
local gate = require 'jobs/gate'
local route = require 'jobs/route'
local lapse = require 'jobs/lapse'
local overdue = {}
local STATE_IN = {reserved = record.RESERVED, delayed = record.DELAYED}

-- The first jobs of a set: ids, when each was due, live records, and headers, each false for a job that is gone.
local function read_first(q, set, budget)
  local found = redis.call('ZRANGEBYSCORE', set, '-inf', text.of(clock.now(q)), 'WITHSCORES', 'LIMIT', '0', text.of(budget))
  local ids, times = {}, {}
  for i = 1, #found, 2 do ids[#ids + 1], times[#times + 1] = found[i], tonumber(found[i + 1]) end
  if #ids == 0 then return ids, times end
  local lives, raws = redis.call('HMGET', q.live, unpack(ids)), redis.call('HMGET', q.jobs, unpack(ids))
  local headers, gated = {}, {}
  for i, id in ipairs(ids) do
    headers[i] = raws[i] and record.header(raws[i])
    if headers[i] and record.is_gated(headers[i]) then gated[#gated + 1] = {id = id, header = headers[i]} end
  end
  route.prefetch(q, ids, raws)
  gate.prefetch(q, gated)
  return ids, times, lives, headers
end

-- Returns the state of the job.
local function move(q, key, id, live, header, at)
  local r = record.live(live)
  if r.state == STATE_IN[key] then
    lapse.job(q, id, r, header, at)
  else
    write.remove(q, key, id) -- a stale member would block the others
  end
  return r.state
end

-- Moves the first jobs of a set within the budget of the step. Returns how many there were, and how many of these were completed, because
-- their worker took nothing back.
local function move_first(q, step, key)
  local budget, moved, completed = step.room, 0, 0
  local ids, times, lives, headers = read_first(q, q[key], budget)
  step.lag = math.max(step.lag, clock.now(q) - (times[1] or clock.now(q)))
  for i, id in ipairs(ids) do
    local live, header = lives[i], headers[i]
    if write.is_spent(q) then
      step.more = true
      return moved, completed
    elseif not live or not header then
      write.remove(q, key, id) -- the job is gone
    else
      local state = move(q, key, id, live, header, times[i])
      if state == record.DEAD then step.died = step.died + 1 end
      if state == record.COMPLETED then completed = completed + 1 end
      step.room, moved = step.room - 1, moved + 1
    end
  end
  step.more = #ids >= budget
  return moved, completed
end

-- Returns how many expired, fell due and died, how many were completed, whether more is overdue, and the longest lag.
function overdue.step(q, budget)
  local step = {room = budget, expired = 0, due = 0, died = 0, completed = 0, more = false, lag = 0}
  step.expired, step.completed = move_first(q, step, 'reserved')
  step.expired = step.expired - step.completed
  if step.room <= 0 then
    step.more = true
  elseif not step.more then
    step.due = move_first(q, step, 'delayed')
  end
  return step
end

return overdue
