-- sweep: applies what time changes, one bounded step.   reserved -> waiting | blocked | dead,
--        delayed -> waiting | blocked, ended -> forgotten, batches: what `stage` does
-- FLAGS  allow-oom
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · held zset ·
-- KEYS   turns hash · jobs hash · payloads hash · live hash · results hash · drafts hash · dedupe hash ·
-- KEYS   gates hash · batches hash · timers zset · routes hash · alarms zset · tops hash · settings hash ·
-- KEYS   totals hash · events stream · hints channel
-- ARGV   'all' | 'overdue': only expiries and delays; retention ms of queues without their own ('' = the default)
-- REPLY  {expired, due, dead, forgotten, more (0 | 1), next ms (-1 = never), lag ms of the first that was overdue, whether an alarm is
-- REPLY  due (0 | 1)}
local record = require 'base/record'
local clock = require 'base/clock'
local first_of = require 'base/first'
local text = require 'base/text'
local write = require 'base/write'
local total = require 'base/total'
local commit = require 'base/commit'
local batch = require 'base/batch'
local overdue = require 'jobs/overdue'
local removal = require 'jobs/removal'
local upcoming = require 'jobs/upcoming'
local stage = require 'batches/stage'
-- Jobs put back, or forgotten, per step: other calls wait while a step runs. Unusual jobs count four times.
local STEP, FORGOTTEN = 8, 100
local EVENTS, DAY = 10000, 86400000
local BESIDES = 30 -- fixed commands of a step

-- The upper bound of scores that ended in this ms or before.
local function ended_by(ms)
  return '(' .. text.of((ms + 1) * clock.PER_MS)
end

-- Ended jobs past their retention, or beyond how many are kept; none younger than ten seconds.
local function ended_first(q, kept, most)
  local old = ended_by(clock.now(q) - kept.ms)
  local ids = redis.call('ZRANGEBYSCORE', q.ended, '-inf', old, 'LIMIT', '0', text.of(most))
  if #ids > 0 then return ids end
  local surplus = math.min(redis.call('ZCARD', q.ended) - kept.most, most)
  if surplus <= 0 then return ids end
  return redis.call('ZRANGEBYSCORE', q.ended, '-inf', ended_by(clock.now(q) - upcoming.YOUNG), 'LIMIT', '0', text.of(surplus))
end

-- Deletes ended jobs. Returns how many, and whether there are more.
local function forget(q, kept, most)
  if most <= 0 then return 0, true end
  local ids, aliases = ended_first(q, kept, most), {}
  if #ids == 0 then return 0, false end
  for i, raw in ipairs(redis.call('HMGET', q.live, unpack(ids))) do
    local r = raw and record.live(raw)
    if not r then
      aliases[#aliases + 1] = ids[i]
    elseif r.state == record.CANCELLED then
      total.count(q, 'cancelled_kept', -1)
    end
    removal.delete(q, ids[i], r)
    write.remove(q, 'ended', ids[i])
  end
  total.count(q, 'gone', #ids)
  if #aliases > 0 then
    for _, raw in ipairs(redis.call('HMGET', q.jobs, unpack(aliases))) do
      if raw then total.count(q, 'stubs', -1) end
    end
  end
  return #ids, #ids >= most
end

-- A step on the first batch that is past its retention or whose timer has run out, if the sweep had no other work.
local function look_at_batches(q, kept, is_done)
  local now = clock.now(q)
  local code = redis.call('ZRANGEBYSCORE', q.timers, '-inf', text.of(now - kept.ms - batch.OVER), 'LIMIT', '0', '1')[1]
    or redis.call('ZRANGEBYSCORE', q.timers, '0', text.of(now), 'LIMIT', '0', '1')[1]
  if not code then return 0, false end
  if not is_done then return 0, true end
  local b = batch.read(q, code)
  if not b then
    redis.call('ZREM', q.timers, code) -- the batch is gone
    return 0, true
  end
  return stage.step(q, code, b, true) or 0, true
end

local function is_empty(...)
  for _, key in ipairs({...}) do
    if redis.call('EXISTS', key) == 1 then return false end
  end
  return true
end

-- Deletes the order only when no job with a place is left. Returns when the first alarm goes off. One command looks for both keys: the
-- alarms, named twice, count two.
local function forget_order(q)
  local found = redis.call('EXISTS', q.inbound, q.alarms, q.alarms)
  if found % 2 == 0 and is_empty(q.reserved, q.delayed, q.parked) then redis.call('UNLINK', q.tops, q.turns) end
  return found > 1 and first_of(q.alarms) or math.huge
end

-- Keeps about ten thousand transitions; deletes the stream when the queue has been empty for a day.
local function trim_events(q)
  local last = redis.call('XREVRANGE', q.events, '+', '-', 'COUNT', '20')
  if #last == 0 then return end
  local carried = 0
  for _, entry in ipairs(last) do carried = carried + tonumber(entry[2][1]) end
  redis.call('XTRIM', q.events, 'MAXLEN', '~', text.of(math.max(math.ceil(EVENTS * #last / carried), 100)))
  local idle = clock.now(q) - tonumber(last[1][1]:match('^%d+'))
  if idle > DAY and is_empty(q.inbound, q.reserved, q.delayed, q.parked, q.dead, q.ended) then
    redis.call('UNLINK', q.events)
  end
end

-- The work that is not urgent. Returns how many jobs were deleted, and whether there are more.
local function tidy(q, kept, step)
  local forgotten, more_to_forget = forget(q, kept, step.more and 0 or FORGOTTEN)
  local removed, more_of_batches = look_at_batches(q, kept, step.expired + step.due + forgotten == 0)
  return forgotten + removed, more_to_forget or more_of_batches
end

return function(q, args)
  write.spend(q, BESIDES)
  local step = overdue.step(q, STEP)
  write.flush(q)
  local chosen = redis.call('HMGET', q.settings, 'retention_ms', 'retention_max')
  local kept = {ms = tonumber(chosen[1] or args[2]) or $RETENTION_MS, most = tonumber(chosen[2] or $RETENTION_MAX)}
  local forgotten, more = 0, false
  if args[1] == 'all' then forgotten, more = tidy(q, kept, step) end
  more = more or step.more
  return commit(q, function()
    local alarm = forget_order(q)
    -- Trimming exactly reads the last entries, so only the last of many steps does it.
    if more then redis.call('XTRIM', q.events, 'MAXLEN', '~', text.of(EVENTS)) else trim_events(q) end
    local next_ms, rings = upcoming.next_ms(q, kept.ms, kept.most, alarm), alarm <= clock.now(q) and 1 or 0
    return {step.expired, step.due, step.died, forgotten, more and 1 or 0, next_ms, step.lag, rings}
  end)
end
