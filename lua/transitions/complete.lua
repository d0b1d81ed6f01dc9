-- complete: the holder reports success, in time or late.   reserved | waiting | blocked | dead -> completed
-- FLAGS  allow-oom if-small
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · held zset ·
-- KEYS   restricted zset · lines zset · turns hash · jobs hash · payloads hash · live hash · results hash ·
-- KEYS   drafts hash · dedupe hash · gates hash · batches hash · timers zset · routes hash · alarms zset ·
-- KEYS   tops hash · settings hash · totals hash · events stream · hints channel
-- ARGV   per item 2: id; secret, digest of the secret, and behind them the result ('' = none)
-- REPLY  per item: its words, 'done', late (0 | 1) and how long it was held, ms | 'again' and late |
-- REPLY  {'lost', how, state ('' = unknown)} |
-- REPLY  {'later'}: in the next script, as all behind it
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local write = require 'base/write'
local event = require 'base/event'
local total = require 'base/total'
local commit = require 'base/commit'
local batch = require 'base/batch'
local gate = require 'jobs/gate'
local ended = require 'jobs/ended'
local ending = require 'jobs/ending'
local route = require 'jobs/route'
local part = require 'jobs/part'
local items = require 'jobs/items'
local STRIDE = 2
local STATES, DEAD = record.STATES, record.DEAD
local DONE, DONE_LATE, GRACE_OVER = ended.DONE, ended.DONE_LATE, ended.GRACE_OVER
local pack, unpack_record, format, max, min = struct.pack, struct.unpack, string.format, math.max, math.min
-- Reading a result counts as two commands, because it may be large.
local BODY = 2

-- A field of `results`, with the changes of this list.
local function result_of(q, field)
  if q.new_results[field] ~= nil then return q.new_results[field] end
  write.spend(q, BODY)
  return redis.call('HGET', q.results, field)
end

local function set_result(q, field, value)
  q.new_results[field] = value
  write.set(q, 'results', field, value)
end

-- Completes the job; the note of the event is reserved at, held ms, `late`, and the total that an overdue reservation counts in, because
-- no other event says that.
local function finish(q, job, worker, reserved_at, result, late, cause)
  local id, held = job.id, max(clock.now(q) - reserved_at, 0)
  q.new_results[id] = false
  if result ~= '' then set_result(q, id, result) end
  ending.finish(q, id, job.record, job.header, record.COMPLETED)
  local note = format(late and '%.0f %.0f late' or '%.0f %.0f', reserved_at, held)
  if cause then note = text.words(note, cause) end
  event.add(q, 'completed', id, worker, job.header, note)
  total.count(q, 'completed')
  return text.words('done', late and 1 or 0, text.of(held))
end

-- Keeps a result that came too late with the job, once: a person's work is never discarded.
local function keep_late(q, job, worker, digest, result)
  local r, id = job.record, job.id
  for slot = 0, min(r.late, $LATE_RESULTS) - 1 do
    local kept = result_of(q, id .. '\0' .. slot)
    if kept then
      local by, _, _, stop = unpack_record('>c8I6Bc0', kept)
      if by == digest and kept:sub(stop) == result then return end
    end
  end
  set_result(q, id .. '\0' .. r.late % $LATE_RESULTS, pack('>c8I6Bc0', digest, clock.now(q), #worker, worker) .. result)
  r.late = r.late < 65535 and r.late + 1 or 60001 -- the field's end; the slot stays in step
  gate.keep(q, id, r)
end

local function complete_late(q, job, worker, reserved_at, result)
  ending.leave_set(q, job.id, job.record, job.header)
  ended.end_late(q, job.record)
  part.finish(q, job.id, job.header, worker)
  return finish(q, job, worker, reserved_at, result, true)
end

-- The job is not reserved, and the outcome of its batch is not written yet.
local function is_open(q, job)
  local state = job.record.state
  -- No work counts at the expiry of its job, or later.
  if route.is_over(q, job.id, job.header) then return false end
  if state == DEAD then
    return not record.is_member(job.header) or not batch.is_over(batch.read(q, batch.of(job.id)))
  end
  return state == record.WAITING or state == record.BLOCKED
end

-- Completes by the live reservation, before or after its deadline.
local function complete_held(q, job, result)
  local lease = job.lease
  local late, cause = clock.now(q) >= job.deadline, nil
  if late then
    cause = record.is_marked(lease, record.GRACE) and 'abandoned' or 'expired'
    job.record[cause] = job.record[cause] + 1
    total.count(q, cause)
  end
  items.end_reservation(q, job, job.id, late and DONE_LATE or DONE)
  return finish(q, job, lease.worker, lease.reserved_at, result, late, cause)
end

local function complete(q, args, at)
  local id, secret, digest, stop = args[at], unpack_record('>c$ID_LENc8', args[at + 1])
  local result = args[at + 1]:sub(stop)
  local job = items.holder(q, id, secret)
  if job and not route.is_over(q, id, job.header) then return complete_held(q, job, result) end
  if job then items.expire(q, job) else items.touch(q, id, digest) end
  job = q.loaded[id]
  local entry, how, worker, reserved_at
  if job then entry, how, worker, reserved_at = ended.find(job.record, digest) end
  if not entry then return {'lost', 'unknown', ''} end
  local done = how == DONE or how == DONE_LATE
  if done and (result_of(q, id) or '') == result then return text.words('again', how == DONE_LATE and 1 or 0) end
  if (how == ended.EXPIRED or how == GRACE_OVER) and entry == 1 and is_open(q, job) then
    return complete_late(q, job, worker, reserved_at, result)
  end
  keep_late(q, job, worker, digest, result)
  return {'lost', ended.ENDINGS[how], STATES[job.record.state]}
end

return function(q, args)
  q.new_results = {}
  items.read(q, args, STRIDE)
  items.prefetch_ends(q)
  return commit(q, items.each(q, args, STRIDE, complete))
end
