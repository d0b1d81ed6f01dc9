-- sweep: what time brings about, one bounded step.   reserved -> waiting | blocked | dead,
--        delayed -> waiting | blocked, ended -> forgotten, batches: what `stage` does
-- FLAGS  allow-oom
-- USES   clock write record batch gate baton leave dedupe ending back order overdue gone stage event total commit upcoming
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · turns hash ·
-- KEYS   jobs hash · live hash · timers zset · tops hash · settings hash · events stream
-- ARGV   -
-- REPLY  {expired, due, dead, forgotten, more (0 | 1), next ms (-1 = never), lag ms of the first that was overdue}
local STEP, EVENTS, DAY = 200, 10000, 86400000
spend(30) -- what it does besides
local expired, due_jobs, died, more, longest_lag = overdue_step(STEP)
write_so_far()

local chosen = redis.call('HMGET', settings, 'retention_ms', 'retention_max')
local retention, most_kept = tonumber(chosen[1] or $RETENTION_MS), tonumber(chosen[2] or $RETENTION_MAX)
local leave_ended = begin('ZREM', ended)

-- The scores of all that ended in this ms or before.
local function ended_by(ms)
  return '(' .. digits((ms + 1) * PER_MS)
end

-- Ended jobs past their retention, or beyond how many are kept; none younger than ten seconds.
local function forget(most)
  if most <= 0 then return 0, true end
  local ids = redis.call('ZRANGEBYSCORE', ended, '-inf', ended_by(now - retention), 'LIMIT', 0, most)
  if #ids == 0 then
    local surplus = math.min(redis.call('ZCARD', ended) - most_kept, most)
    if surplus > 0 then
      ids = redis.call('ZRANGEBYSCORE', ended, '-inf', ended_by(now - YOUNG), 'LIMIT', 0, surplus)
    end
  end
  if #ids == 0 then return 0, false end
  local stubs = {}
  for i, raw in ipairs(redis.call('HMGET', live, unpack(ids))) do
    local r = raw and read_live(raw)
    if not r then stubs[#stubs + 1] = ids[i] elseif r.state == CANCELLED then total('cancelled_kept', -1) end
    gone(ids[i], r)
    add(leave_ended, ids[i])
  end
  if #stubs > 0 then
    for _, raw in ipairs(redis.call('HMGET', jobs, unpack(stubs))) do
      if raw then total('stubs', -1) end
    end
  end
  return #ids, #ids >= most
end

-- A step on the first batch whose time it is, if nothing else was to be done: one that is out of retention, or whose timer
-- has run out.
local function look_at_batches(done_already)
  local code = redis.call('ZRANGEBYSCORE', timers, '-inf', now - retention - OVER, 'LIMIT', 0, 1)[1]
    or redis.call('ZRANGEBYSCORE', timers, 0, now, 'LIMIT', 0, 1)[1]
  if not code then return 0, false end
  if done_already > 0 then return 0, true end
  local b = read_batch(code)
  if not b then
    redis.call('ZREM', timers, code) -- there is no such batch
    return 0, true
  end
  return stage_step(code, b, true) or 0, true
end

local function is_empty(...)
  for _, key in ipairs({...}) do
    if redis.call('EXISTS', key) == 1 then return false end
  end
  return true
end

-- Order is forgotten only when nothing that has a place is left.
local function forget_order()
  if is_empty(inbound, reserved, delayed, parked) then redis.call('UNLINK', tops, turns) end
end

-- About ten thousand transitions, whatever the number of entries; all go when the queue has been empty for a day.
local function trim_events()
  local last = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 20)
  if #last == 0 then return end
  local carried = 0
  for _, entry in ipairs(last) do carried = carried + tonumber(entry[2][1]) end
  redis.call('XTRIM', events, 'MAXLEN', '~', math.max(math.ceil(EVENTS * #last / carried), 100))
  local idle = now - tonumber(last[1][1]:match('^%d+'))
  if idle > DAY and is_empty(inbound, reserved, delayed, parked, dead, ended) then redis.call('UNLINK', events) end
end

local forgotten, more_to_forget = forget(STEP - expired - due_jobs)
local removed, more_of_batches = look_at_batches(expired + due_jobs + forgotten)
commit()
forget_order()
trim_events()
more = more or more_to_forget or more_of_batches
return counted({expired, due_jobs, died, forgotten + removed, more and 1 or 0,
  next_ms(retention, most_kept), longest_lag})
