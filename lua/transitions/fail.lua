-- fail: the holder reports failure, which counts an attempt.   reserved -> waiting | blocked | delayed | dead
-- FLAGS  allow-oom
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · held zset ·
-- KEYS   restricted zset · lines zset · turns hash · jobs hash · live hash · results hash · drafts hash ·
-- KEYS   dedupe hash · gates hash · batches hash · timers zset · routes hash · alarms zset · tops hash ·
-- KEYS   settings hash · totals hash · events stream · hints channel
-- ARGV   per item 5: id, secret, digest of the secret, error, jitter (0 .. 200 thousandths of the backoff, only added)
-- REPLY  per item: {'back', state} | {'again', state} | {'lost', how, state ('' = unknown)} | {'closing', ms left to take back its completion} |
-- REPLY  {'later'}: in the next script, as all after it
local record = require 'base/record'
local clock = require 'base/clock'
local event = require 'base/event'
local total = require 'base/total'
local commit = require 'base/commit'
local ended = require 'jobs/ended'
local back = require 'jobs/back'
local items = require 'jobs/items'
local STRIDE, ERRORS, FIXED, EXPONENTIAL = 5, 5, $FIXED, $EXPONENTIAL

-- The last five errors, newest first: when, worker, text.
local function note(q, errors, worker, message)
  local stop, entries = 1, 1
  while stop <= #errors and entries < ERRORS do
    local _, _, _, next_stop = struct.unpack('$ERROR_FORMAT', errors, stop)
    stop, entries = next_stop, entries + 1
  end
  return struct.pack('$ERROR_FORMAT', clock.now(q), #worker, worker, #message, message) .. errors:sub(1, stop - 1)
end

-- The queue's setting: {type, delay ms, maximum ms}.
local function queue_backoff(q)
  local chosen = redis.call('HGET', q.settings, 'backoff') or ''
  local kind, delay, max_delay = chosen:match('^(%d+) (%d+) (%d+)')
  return kind and {tonumber(kind), tonumber(delay), tonumber(max_delay)}
end

local function backoff(q, r, header, jitter)
  local kind, delay, max_delay = header.backoff, header.backoff_delay, header.backoff_max
  if not kind and q.backoff then kind, delay, max_delay = unpack(q.backoff) end
  if kind == EXPONENTIAL then delay = math.min(delay * 2 ^ math.min(r.attempts - 1, 40), max_delay) end
  if kind ~= FIXED and kind ~= EXPONENTIAL then return 0 end
  return delay + math.floor(delay * jitter / 1000)
end

local function fail(q, args, at)
  local id, secret, digest, message, jitter = args[at], args[at + 1], args[at + 2], args[at + 3], tonumber(args[at + 4])
  local job = items.live_holder(q, id, secret, digest)
  if not job then return items.refuse(q, id, digest, ended.FAILED) end
  local r, header, worker = job.record, job.header, job.lease.worker
  r.failed, r.attempts = r.failed + 1, r.attempts + 1
  r.errors = note(q, r.errors, worker, message)
  items.end_reservation(q, job, id, ended.FAILED)
  event.add(q, 'failed', id, worker, header, message)
  total.count(q, 'failed')
  local delay = backoff(q, r, header, jitter)
  if back.is_out_of_attempts(q, r.attempts, header) then
    back.to_dead(q, id, r, header, worker)
  elseif delay > 0 then
    back.to_delay(q, id, r, header, delay)
  else
    back.to_line(q, id, r, header)
  end
  return {'back', record.STATES[r.state]}
end

return function(q, args)
  items.read(q, args, STRIDE)
  items.prefetch_ends(q)
  q.backoff = queue_backoff(q)
  return commit(q, items.each(q, args, STRIDE, fail))
end
