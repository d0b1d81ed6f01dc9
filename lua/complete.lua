-- complete: the holder reports success, in time or late.   reserved | waiting | blocked | dead -> completed
-- FLAGS  allow-oom
-- USES   clock write record batch gate baton leave dedupe ending settle event total commit
-- KEYS   results hash
-- ARGV   per item 4: id, secret, digest of the secret, result ('' = none)
-- REPLY  per item: {'done' | 'again', late (0 | 1)} | {'lost', how, state ('' = unknown)} |
-- REPLY  {'later'}: in the next script, as all behind it
local STRIDE = 4
read_items(STRIDE)
foresee_ends()
local write_results = begin('HSET', results)
local said = {} -- what this list has put into `results`
-- Counts as much as the commands of two: a result that is there already may be large.
local BODY = 2

local function result_of(field)
  if said[field] ~= nil then return said[field] end
  spend(BODY)
  return redis.call('HGET', results, field)
end

local function say(field, value)
  said[field] = value
  add(write_results, field, value)
end

-- The event says who had it since when, and how long.
local function finish(job, id, worker, reserved_at, result, late)
  said[id] = false
  if result ~= '' then say(id, result) end
  end_job(id, job.record, job.header, COMPLETED)
  local held = math.max(now - reserved_at, 0)
  event('completed', id, worker, job.header, string.format(late and '%.0f %.0f late' or '%.0f %.0f', reserved_at, held))
  total('completed')
  return {'done', late and 1 or 0}
end

-- The result that came too late is kept beside the job, once: a person's work is never thrown away.
local function keep_late(job, id, worker, digest, result)
  local r = job.record
  for slot = 0, math.min(r.late, $LATE_RESULTS) - 1 do
    local kept = result_of(id .. '\0' .. slot)
    if kept then
      local by, _, _, stop = struct.unpack('>c8I6Bc0', kept)
      if by == digest and kept:sub(stop) == result then return end
    end
  end
  say(id .. '\0' .. r.late % $LATE_RESULTS, struct.pack('>c8I6Bc0', digest, now, #worker, worker) .. result)
  r.late = r.late < 65535 and r.late + 1 or 60001 -- the field's end; the slot stays in step
  keep(id, r)
end

local function complete_late(job, id, worker, reserved_at, result)
  local r = job.record
  leave_set(id, r, job.header)
  r.ring = ended_late(r.ring)
  return finish(job, id, worker, reserved_at, result, true)
end

-- Nobody has the job, and what its batch came to is not written yet.
local function is_open(job, id)
  local state = job.record.state
  if state == DEAD then return not is_member(job.header) or not is_over(read_batch(batch_of(id))) end
  return state == WAITING or state == BLOCKED
end

local function complete(at)
  local id, secret, digest, result = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local job = holder(id, secret)
  if job then
    local late, hold = now >= job.deadline, job.hold
    if late then
      local cause = is_marked_hold(hold, GRACE) and 'abandoned' or 'expired'
      job.record[cause] = job.record[cause] + 1
      total(cause)
    end
    let_go(job, id, late and DONE_LATE or DONE)
    return finish(job, id, hold.worker, hold.reserved_at, result, late)
  end
  job = found[id]
  local entry, how, worker, reserved_at
  if job then entry, how, worker, reserved_at = recall(job.record.ring, digest) end
  if not entry then return {'lost', 'unknown', ''} end
  local done = how == DONE or how == DONE_LATE
  if done and (result_of(id) or '') == result then return {'again', how == DONE_LATE and 1 or 0} end
  if (how == EXPIRED or how == GRACE_OVER) and entry == 1 and is_open(job, id) then
    return complete_late(job, id, worker, reserved_at, result)
  end
  keep_late(job, id, worker, digest, result)
  return {'lost', ENDINGS[how], STATES[job.record.state]}
end

local replies = each_item(STRIDE, complete)

commit()
return counted(replies)
