-- store: writes a new job, for enqueue and append.
local record = require 'base/record'
local clock = require 'base/clock'
local write = require 'base/write'
local event = require 'base/event'
local total = require 'base/total'
local stamp = require 'base/stamp'
local first_of = require 'base/first'
local batch = require 'base/batch'
local order = require 'jobs/order'
local gate = require 'jobs/gate'
local baton = require 'jobs/baton'
local lines = require 'jobs/lines'
local routing = require 'jobs/routing'
local alarm = require 'jobs/alarm'
local store = {}
local WAITING, BLOCKED, DELAYED = record.WAITING, record.BLOCKED, record.DELAYED

-- Adds the rare options of a new job, which begin there, to the job, {header} and more: whether to look for duplicates even if the queue
-- does not, whether those are named by a key, delay, run at, the times between which its route is valid and what it says, payload outside the record. Most jobs have none.
function store.rare(job, options, at)
  job.always, job.by_key, job.delay, job.run_at, job.from, job.before, job.asked, job.external = false, false, 0, 0, 0, math.huge, '', ''
  if #options < at then return job end
  local always, stop
  always, job.delay, job.run_at, stop = struct.unpack('>BI6I6', options, at)
  job.always, job.by_key = always > 0, always == 2
  if record.is_routed(job.header) then
    job.from, job.before, job.asked, stop = struct.unpack('>I6I6I2c0', options, stop)
  end
  job.external = options:sub(stop)
  return job
end

-- The times that a new job names are valid now.
function store.is_timely(q, job)
  local now = clock.now(q)
  return job.from <= now and now < job.before
end

-- How many more jobs `max_jobs` allows; dead jobs count, other ended ones do not.
function store.room_left(q, max_jobs)
  local room = tonumber(max_jobs or $MAX_JOBS)
  if room == 0 then return math.huge end
  for _, key in ipairs({q.inbound, q.restricted, q.parked, q.delayed, q.reserved, q.dead}) do
    room = room - redis.call('ZCARD', key)
  end
  return room
end

-- The reply for a queue without room: sweep first if that may make some.
function store.why_full(q)
  return math.min(first_of(q.reserved), first_of(q.alarms)) <= clock.now(q) and 'overdue' or 'full'
end

-- Loads the locks of new jobs, {id, header} each.
function store.prefetch_locks(q, jobs)
  local locked = {}
  for _, job in ipairs(jobs) do
    if job.header.locks then locked[#locked + 1] = job end
  end
  if #locked > 0 then gate.prefetch(q, locked) end
end

-- Places a new job and returns its state. One that goes straight into `inbound` has no live record until it is reserved.
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
  local r = record.new(WAITING, order.new_place(q, priority, header.client), priority, arrival)
  routing.ready(q, id, header, now)
  local is_restricted = routing.lines(q, id, header) ~= nil
  local name = not is_restricted and gate.full(q, id, header)
  if name then
    baton.park(q, id, r, header, name)
    return BLOCKED
  end
  lines.announce(q, lines.enter(q, id, r, header))
  if is_restricted then gate.keep(q, id, r) end
  return WAITING
end

-- `job`: id, tail of its record, header (of any stamp), delay and run_at in ms (0 = none), what its route says (`asked`), `external`
-- payload with a field of its own ('' = it is in the record). Returns the record and the word of its state.
function store.job(q, job)
  local id, arrival = job.id, stamp.new(q)
  local raw, header = record.stamped(arrival, job.tail), job.header
  header.stamp, header.raw = arrival, raw
  write.set(q, 'jobs', id, raw)
  if job.external ~= '' then write.set(q, 'payloads', id, job.external) end
  alarm.start(q, id, header, job.asked)
  local state = first_place(q, job, header, arrival)
  event.add(q, 'enqueued', id, '', header, '')
  total.count(q, 'enqueued')
  return raw, record.STATES[state]
end

return store
