-- store: writes a new job, for enqueue and append.
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local write = require 'base/write'
local event = require 'base/event'
local total = require 'base/total'
local stamp = require 'base/stamp'
local first_of = require 'base/first'
local batch = require 'base/batch'
local order = require 'jobs/order'
local gate = require 'jobs/gate'
local baton = require 'jobs/baton'
local place = require 'jobs/place'
local lines = require 'jobs/lines'
local routing = require 'jobs/routing'
local alarm = require 'jobs/alarm'
local store = {}
local WAITING, BLOCKED, DELAYED = record.WAITING, record.BLOCKED, record.DELAYED
local huge, max, min = math.huge, math.max, math.min

-- A new job, {id, header, and its rare options}: whether to look for duplicates even if the queue does not, whether those are named by a
-- key, delay, run at, the times between which its route is valid and what it says, payload outside the record. `tail` is that of its record;
-- the options begin there. Most jobs have none.
function store.new(id, tail, options, at)
  local job = {
    id = id, header = record.new_header(tail), always = false, by_key = false, delay = 0, run_at = 0, from = 0, before = huge, asked = '',
    external = '',
  }
  if #options < at then return job end
  local always, stop
  always, job.delay, job.run_at, stop = struct.unpack('$RARE_FORMAT', options, at)
  job.always, job.by_key = always > 0, always == $BY_KEY
  if record.is_routed(job.header) then
    job.from, job.before, job.asked, stop = struct.unpack('$VALID_FORMAT', options, stop)
  end
  job.external = options:sub(stop)
  return job
end

-- The times that a new job names are valid now.
function store.is_timely(q, job)
  local now = clock.now(q)
  return job.from <= now and now < job.before
end

-- When the delay of a new job is over; now or before for one without.
function store.due(q, job)
  local due = job.due
  if not due then
    due = max(job.run_at, clock.now(q) + job.delay)
    job.due = due
  end
  return due
end

-- How many more jobs `max_jobs` allows; dead jobs count, other ended ones do not.
function store.room_left(q, max_jobs)
  local room = tonumber(max_jobs or $MAX_JOBS)
  if room == 0 then return huge end
  for _, key in ipairs({q.inbound, q.restricted, q.parked, q.delayed, q.reserved, q.dead}) do
    room = room - redis.call('ZCARD', key)
  end
  return room
end

-- The reply for a queue without room: sweep first if that may make some.
function store.why_full(q)
  return min(first_of(q.reserved), first_of(q.alarms)) <= clock.now(q) and 'overdue' or 'full'
end

-- Reads at once the locks of new jobs and the turns of their clients.
function store.prefetch(q, jobs)
  local locked, ready, now = {}, {}, clock.now(q)
  for i = 1, #jobs do
    local job = jobs[i]
    if job.header.locks then locked[#locked + 1] = job end
    if store.due(q, job) <= now then ready[#ready + 1] = job.header end
  end
  if #locked > 0 then gate.prefetch(q, locked) end
  if #ready > 1 then order.prefetch(q, ready) end
end

-- Places a new job and returns its state. One that goes straight into `inbound` has no live record until it is reserved.
local function first_place(q, job, header, arrival)
  local id, priority, now, due = job.id, header.priority, clock.now(q), store.due(q, job)
  if record.is_member(header) then batch.count_move(q, id, nil, WAITING) end
  if due > now then
    local r = record.new(WAITING, -1, priority, arrival)
    batch.enter(q, id, r, header, DELAYED)
    write.add(q, 'delayed', due, id)
    gate.keep(q, id, r)
    return DELAYED
  end
  local score = order.new_place(q, priority, header.client)
  routing.ready(q, id, header, now)
  local is_restricted = routing.lines(q, id, header) ~= nil
  local name = not is_restricted and gate.full(q, id, header)
  if not is_restricted and not name then
    write.add(q, 'inbound', text.of(score), place.member(id, arrival))
    lines.announce(q)
    return WAITING
  end
  local r = record.new(WAITING, score, priority, arrival)
  if name then
    baton.park(q, id, r, header, name)
    return BLOCKED
  end
  lines.announce(q, lines.enter(q, id, r, header))
  gate.keep(q, id, r)
  return WAITING
end

-- Writes a new job. Returns the word of its state.
function store.job(q, job)
  local id, arrival, header = job.id, stamp.new(q), job.header
  local raw = record.stamp(header, arrival)
  write.set(q, 'jobs', id, raw)
  if job.external ~= '' then write.set(q, 'payloads', id, job.external) end
  alarm.start(q, id, header, job.asked)
  local state = first_place(q, job, header, arrival)
  event.add(q, 'enqueued', id, '', header, '')
  total.count(q, 'enqueued')
  return record.STATES[state]
end

return store
