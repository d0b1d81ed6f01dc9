-- sweep: applies what time changes, one bounded step.   reserved -> waiting | blocked | dead,
--        delayed -> waiting | blocked, ended -> forgotten, batches: what `stage` does
-- FLAGS  allow-oom
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · held zset ·
-- KEYS   restricted zset · lines zset · turns hash · jobs hash · payloads hash · live hash · results hash ·
-- KEYS   drafts hash · dedupe hash · gates hash · batches hash · timers zset · routes hash · alarms zset ·
-- KEYS   tops hash · settings hash · totals hash · events stream · cursors hash · hints channel
-- ARGV   'all' | 'overdue': only expiries and delays; retention ms of queues without their own ('' = the default); whether a reader of
-- ARGV   the events that is too far behind loses what it has not read (0 | 1)
-- REPLY  {expired, due, dead, forgotten, more (0 | 1), more that is overdue (0 | 1), next ms (-1 = never), lag ms of the first that was overdue, whether an alarm is
-- REPLY  due (0 | 1), whether the queue keeps day sheets (0 | 1), whether such a reader is too far behind (0 | 1)}
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local write = require 'base/write'
local total = require 'base/total'
local commit = require 'base/commit'
local batch = require 'base/batch'
local outbox = require 'base/outbox'
local overdue = require 'jobs/overdue'
local removal = require 'jobs/removal'
local lines = require 'jobs/lines'
local upcoming = require 'jobs/upcoming'
local trim = require 'jobs/trim'
local stage = require 'batches/stage'
-- Jobs put back, or forgotten, per step: other calls wait while a step runs.
local STEP, FORGOTTEN = $SWEEP_JOBS, 100
local BESIDES = 30 -- fixed commands of a step

-- The upper bound of scores that ended in this ms or before.
local function ended_by(ms)
  return '(' .. text.of((ms + 1) * clock.PER_MS)
end

-- Ended jobs past their retention, or beyond how many are kept; none younger than ten seconds, and none whose end a webhook has
-- not read.
local function ended_first(q, kept, limit)
  local old = ended_by(math.min(clock.now(q) - kept.ms, kept.read_ms))
  local ids = redis.call('ZRANGEBYSCORE', q.ended, '-inf', old, 'LIMIT', '0', text.of(limit))
  if #ids > 0 then return ids end
  local surplus = math.min(redis.call('ZCARD', q.ended) - kept.max, limit)
  if surplus <= 0 then return ids end
  local young = ended_by(math.min(clock.now(q) - upcoming.MIN_KEPT_MS, kept.read_ms))
  return redis.call('ZRANGEBYSCORE', q.ended, '-inf', young, 'LIMIT', '0', text.of(surplus))
end

-- Deletes ended jobs. Returns how many, and whether there are more.
local function forget(q, kept, limit)
  if limit <= 0 then return 0, true end
  local ids, aliases = ended_first(q, kept, limit), {}
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
  return #ids, #ids >= limit
end

-- A step on the first batch that is past its retention and whose end all webhooks have read, or whose timer has run out, if the sweep
-- had no other work.
local function look_at_batches(q, kept, is_done)
  local now = clock.now(q)
  local ended = math.min(now - kept.ms, kept.read_ms)
  local code = redis.call('ZRANGEBYSCORE', q.timers, '-inf', text.of(ended - batch.OVER), 'LIMIT', '0', '1')[1]
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
  local chosen = redis.call('HMGET', q.settings, 'retention_ms', 'retention_max', lines.MARK, 'sheets')
  local kept = {ms = tonumber(chosen[1] or args[2]) or $RETENTION_MS, max = tonumber(chosen[2] or $RETENTION_MAX)}
  local readers, forgotten, more = nil, 0, false
  if args[1] == 'all' then
    -- With more to do that is urgent, no job is forgotten.
    if not step.more then readers = outbox.readers(q) end
    kept.read_ms = trim.read_until(q, readers or {})
    forgotten, more = tidy(q, kept, step)
  end
  more = more or step.more
  return commit(q, function()
    local alarm, has_restricted = trim.order(q)
    if chosen[3] and not has_restricted then redis.call('HDEL', q.settings, lines.MARK) end
    local is_late = false
    if args[1] == 'all' then
      local has_more
      has_more, is_late = trim.events(q, readers, args[3] == '1')
      more = more or has_more
    end
    local next_ms, alarms_due = upcoming.next_ms(q, kept.ms, kept.max, alarm), alarm <= clock.now(q) and 1 or 0
    return {
      step.expired, step.due, step.died, forgotten, more and 1 or 0, step.more and 1 or 0, next_ms, step.lag, alarms_due,
      chosen[4] == '1' and 1 or 0, is_late and 1 or 0,
    }
  end)
end
