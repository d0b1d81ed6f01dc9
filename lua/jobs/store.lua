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

-- The gates of new jobs, {id, header} each, at once.
function store.foresee_locks(q, those)
  local locked = {}
  for _, job in ipairs(those) do
    if job.header.locks then locked[#locked + 1] = job end
  end
  if #locked > 0 then gate.foresee(q, locked) end
end

-- Where a new job goes. Most have no gate, and no live record until somebody has them.
local function first_place(q, job, header, arrival)
  local id, priority, now = job.id, header.priority, clock.now(q)
  local due = math.max(job.run_at, now + job.delay)
  if record.is_member(header) then batch.count_move(q, id, nil, WAITING) end
  if due > now then
    local r = record.new(WAITING, -1, priority, arrival)
    batch.enter(q, id, r, header, DELAYED)
    write.add(q, 'delayed', due, id)
    gate.keep(q, id, r)
    return DELAYED
  end
  local score = order.new_place(q, priority, header.client)
  local name = gate.full(q, id, header)
  if name then
    baton.park(q, id, record.new(WAITING, score, priority, arrival), header, name)
    return BLOCKED
  end
  write.add(q, 'inbound', text.of(score), place.member(id, arrival))
  hint.became_ready(q, 1)
  return WAITING
end

-- `job`: id, tail of its record, header (of any stamp), delay and run_at in ms (0 = none), `external` a payload that has a
-- field of its own ('' = it is in the record). Answers the job's record and the word for its state.
function store.job(q, job)
  local id, arrival = job.id, stamp.new(q)
  local raw = record.stamped(arrival, job.tail)
  local header = record.header(raw)
  write.set(q, 'jobs', id, raw)
  if job.external ~= '' then write.set(q, 'payloads', id, job.external) end
  local state = first_place(q, job, header, arrival)
  event.tell(q, 'enqueued', id, '', header, '')
  total.count(q, 'enqueued')
  return raw, record.STATES[state]
end

return store
