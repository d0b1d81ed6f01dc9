-- members: the list form of base/batch and of the limits of batches: counts the jobs of a list that are reserved or completed, takes
-- and returns units of the limits, and passes their batons. The tables are reused between calls; a call reads only the entries
-- that it has written.
local record = require 'base/record'
local text = require 'base/text'
local record_bytes = require 'base/record_bytes'
local event = require 'base/event'
local batch = require 'base/batch'
local fields_of = require 'base/fields'
local gate = require 'jobs/gate'
local place = require 'jobs/place'
local members = {}
local call, pack, unpack_use, unpack, min = redis.call, struct.pack, struct.unpack, unpack, math.min
local USE, MEMBER, ENDED = gate.USE, record.MEMBER / 256, event.heads['batch-completed']
-- Of each batch: its code, its limit's name, how many jobs of the list it has, its record, and the use of its limit or false.
local n, codes, limits, counts, raws, uses, one_raw, one_use = 0, {}, {}, {}, nil, nil, {}, {}
-- How many jobs each batch gets back into line, and of these jobs their ids and their members in `parked`.
local unparked, parked_ids, off_parked, one_live = {}, {}, {'ZREM'}, {}
local to_batches, to_gates, off_gates, to_inbound, to_timers = {'HSET'}, {'HSET'}, {'HDEL'}, {'ZADD'}, {'ZADD'}

-- Adds a job to the list.
local function add(id)
  local code = batch.of(id)
  for k = n, 1, -1 do
    if codes[k] == code then
      counts[k] = counts[k] + 1
      return
    end
  end
  n = n + 1
  codes[n], limits[n], counts[n] = code, '\0' .. code, 1
end

-- Adds the gates of a job, which `high`, the second byte of its flags, says it has. `has`: whether any job of the list has locks, and how
-- many belong to batches. Returns false if it has a lock that the list has already.
function members.note_gates(has, id, raw, high, flags)
  if high >= MEMBER then
    if has.members == 0 then n = 0 end
    add(id)
    has.members = has.members + 1
    if high == MEMBER then return true end
  end
  has.locks = has.locks or gate.locks.open()
  return gate.locks.note(id, raw, flags, record_bytes.PARTS)
end

-- Whether units are returned that callers may wait for who have passed over jobs. The list wakes no such caller.
local function may_be_awaited(q, by)
  if by > 0 then return false end
  for k = 1, n do
    if uses[k] then return call('EXISTS', q.restricted) == 1 end
  end
  return false
end

-- Reads the batches and adds the jobs, times `by`, to the units in use. Returns false if a batch is gone or has no room.
local function read(q, by)
  raws, uses = fields_of(q.batches, codes, 1, n, one_raw), fields_of(q.gates, limits, 1, n, one_use)
  if may_be_awaited(q, by) then return false end
  for k = 1, n do
    if not raws[k] then return false end
    unparked[k] = 0
    if uses[k] then
      local used, capacity = unpack_use(USE, uses[k])
      used = used + counts[k] * by
      if used > capacity then return false end
      uses[k] = pack(USE, used, capacity)
      if by < 0 then unparked[k] = min(counts[k], capacity - used) end
    end
  end
  return true
end

-- Writes what the lists hold; `q` has the keys.
local function write(command, key, length)
  if length == 2 then return end
  command[2] = key
  call(unpack(command, 1, length))
end

local function write_uses(q)
  local length = 2
  for k = 1, n do
    if uses[k] then
      to_gates[length + 1], to_gates[length + 2] = limits[k], uses[k]
      length = length + 2
    end
  end
  write(to_gates, q.gates, length)
end

-- Each batch has room for its waiting jobs of this list.
function members.can_reserve(q)
  return read(q, 1)
end

function members.reserve(q)
  for k = 1, n do to_batches[k * 2 + 1], to_batches[k * 2 + 2] = codes[k], (batch.move(raws[k], 0, counts[k], 0)) end
  write(to_batches, q.batches, n * 2 + 2)
  write_uses(q)
end

-- The jobs parked first at each limit, one for each unit that is returned there. Returns how many.
local function read_parked(q)
  local found = 0
  for k = 1, n do
    local name = limits[k]
    if unparked[k] > 0 then
      local most = text.of(unparked[k])
      local parked = call('ZRANGE', q.parked, '[' .. name .. '\0', '(' .. name .. '\1', 'BYLEX', 'LIMIT', '0', most)
      unparked[k] = #parked
      for i = 1, #parked do
        found = found + 1
        off_parked[found + 2], parked_ids[found] = parked[i], place.id_of(parked[i])
      end
    end
  end
  return found
end

-- Prepares the reserved jobs of the list to be completed. `to_live` gets the live records of the jobs that go back into line, behind its
-- first `length` elements. Returns how many these are; nil if a batch or one of them is unusual.
function members.can_complete(q, to_live, length)
  if not read(q, -1) then return end
  local found = read_parked(q)
  local lives = found > 0 and fields_of(q.live, parked_ids, 1, found, one_live)
  for i = 1, found do
    local live, id, k = lives[i], parked_ids[i], i * 2
    if not live or not record_bytes.is_blocked(live) then return end
    local score, arrival = record_bytes.place(live)
    to_inbound[k + 1], to_inbound[k + 2] = text.of(score), arrival .. id
    to_live[length + k - 1], to_live[length + k] = id, record_bytes.unpark(live)
  end
  return found
end

-- Ends a batch; `at` is the end of `events`. Returns the record.
local function finish(k, raw, now, events, at)
  local b = batch.unpack(raw)
  local note, timer = batch.finish(b, now)
  events[at + 1], events[at + 2], events[at + 3] = ENDED, codes[k], event.tail(b.client, note)
  return batch.pack(b), timer
end

-- Completes the jobs, `count` of them, and puts `found` others back into line. `events` has `at` elements, and gets an event for
-- each batch that ends. Returns how many end.
function members.complete(q, count, found, now, events, at)
  local ended = 0
  for k = 1, n do
    local raw, is_over = batch.move(raws[k], unparked[k], 0, counts[k])
    if is_over then
      local timer
      raw, timer = finish(k, raw, now, events, at + ended * 3)
      ended, uses[k] = ended + 1, false
      off_gates[ended + 2], to_timers[ended * 2 + 1], to_timers[ended * 2 + 2] = limits[k], timer, codes[k]
    end
    to_batches[k * 2 + 1], to_batches[k * 2 + 2] = codes[k], raw
  end
  write(to_batches, q.batches, n * 2 + 2)
  write_uses(q)
  write(to_inbound, q.inbound, found * 2 + 2)
  write(to_timers, q.timers, ended * 2 + 2)
  write(off_parked, q.parked, found + 2)
  write(off_gates, q.gates, ended + 2)
  call('HINCRBY', q.totals, 'batch_completed_kept', text.of(count))
  return ended
end

return members
