-- store: a new job, as enqueue and append write it.
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local write = require 'base/write'
local event = require 'base/event'
local hint = require 'base/hint'
local total = require 'base/total'
local stamp = require 'base/stamp'
local batch = require 'base/batch'
local place = require 'jobs/place'
local order = require 'jobs/order'
local gate = require 'jobs/gate'
local baton = require 'jobs/baton'
local store = {}
local WAITING, BLOCKED, DELAYED = record.WAITING, record.BLOCKED, record.DELAYED

-- How many more jobs `max_jobs` allows; those that have ended do not count, the dead do.
function store.room_left(q, max_jobs)
  local room = tonumber(max_jobs or $MAX_JOBS)
  if room == 0 then return math.huge end
  for _, key in ipairs({q.inbound, q.parked, q.delayed, q.reserved, q.dead}) do
    room = room - redis.call('ZCARD', key)
  end
  return room
end

-- The gates of the locks that are in what the service has packed: {id, flags, rest} each.
function store.foresee_locks(q, packed)
  local those = {}
  for _, job in ipairs(packed) do
    if bit.band(job.flags, record.LOCKS) ~= 0 then
      those[#those + 1] = {id = job.id, header = record.header(record.head(0, job.flags, 0) .. job.rest)}
    end
  end
  if #those > 0 then gate.foresee(q, those) end
end

-- Where a new job goes. Most have no gate, and no live record until somebody has them.
local function first_place(q, job, raw, arrival)
  local id, header = job.id, job.flags >= record.LOCKS and record.header(raw)
  local due, priority = math.max(job.run_at, clock.now(q) + job.delay), job.priority
  if header and record.is_member(header) then batch.count_move(q, id, nil, WAITING) end
  if due > clock.now(q) then
    local r = record.new(WAITING, -1, priority, arrival)
    batch.enter(q, id, r, header or {flags = 0}, DELAYED)
    write.add(q, 'delayed', due, id)
    gate.keep(q, id, r)
    return DELAYED
  end
  local score = order.new_place(q, priority, job.client)
  local name = header and gate.full(q, id, header)
  if name then
    baton.park(q, id, record.new(WAITING, score, priority, arrival), header, name)
    return BLOCKED
  end
  write.add(q, 'inbound', text.of(score), place.member(id, arrival))
  hint.became_ready(q, 1)
  return WAITING
end

-- `job`: id, flags, priority, client, digest and fingerprint ('' = none), delay and run_at in ms (0 = none), `rest` is what
-- the service has packed, `external` a payload that has a field of its own ('' = it is in the rest). Answers the job's
-- record and the word for its state.
function store.job(q, job)
  local id, head = job.id, ''
  if job.client ~= '' then
    job.flags = job.flags + record.CLIENT
    head = text.short(job.client)
  end
  if job.digest ~= '' then job.flags = job.flags + record.DIGEST end
  if job.fingerprint ~= '' then job.flags = job.flags + record.FINGERPRINT end
  if job.external ~= '' then
    job.flags = job.flags + record.EXTERNAL
    write.set(q, 'payloads', id, job.external)
  end
  local arrival = stamp.new(q)
  local raw = record.head(arrival, job.flags, job.priority) .. head .. job.digest .. job.fingerprint .. job.rest
  write.set(q, 'jobs', id, raw)
  local state = first_place(q, job, raw, arrival)
  event.tell(q, 'enqueued', id, '', job, '')
  total.count(q, 'enqueued')
  return raw, record.STATES[state]
end

return store
