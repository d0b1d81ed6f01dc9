-- erased_events: deletes the events that name a worker, once their readers have passed or the time for that is over. An entry goes with all
-- its events, which one call has made.
local clock = require 'base/clock'
local text = require 'base/text'
local outbox = require 'base/outbox'
local erasures = require 'base/erasures'
local unnamed = require 'base/unnamed'
local event = require 'base/event'
local trim = require 'jobs/trim'
local erased_events = {}
local find, unpack_record, byte = string.find, struct.unpack, string.byte
local LOOK = 200

-- The note of a hand-over is a line, and these have a text in it: a reason, an error.
local HANDED, HAS_TEXT = 'handed-over', {abandoned = true, failed = true}

-- Whether one of the events of an entry names the worker, or says something with the name in it.
local function names(packed, name)
  local at = 1
  while at <= #packed do
    local length = byte(packed, at) % $IN_BATCH
    local kind = packed:sub(at + 1, at + length)
    local worker, _, note, stop = unpack_record('>Bc0Bc0I2c0', packed, at + 1 + length + $ID_LEN)
    if worker == name then return true end
    if kind == HANDED and note == '$WORKER_LINE' .. name then return true end
    if HAS_TEXT[kind] and not event.is_own_reason(note) and unnamed.text(note, name) ~= note then return true end
    at = stop
  end
  return false
end

-- Whether an entry has waited for its readers long enough: since the name was taken out, or since it came if that was later.
local function is_overdue(own, entry, now)
  return now - math.max(own.since, tonumber(entry[1]:match('^%d+'))) >= erasures.MAX_WAIT_MS
end

-- The next entries up to the last one that may name the worker. Returns those to delete, the id of the last that was looked at, whether
-- these were all, and whether the next one waits for a reader.
local function look(q, own, name, readers, now)
  local from = own.member ~= '' and '(' .. own.member or '-'
  local entries, found, reached = redis.call('XRANGE', q.events, from, own.last, 'COUNT', text.of(LOOK)), {}, own.member
  for _, entry in ipairs(entries) do
    local packed = entry[2][2]
    if find(packed, name, 1, true) and names(packed, name) then
      if not is_overdue(own, entry, now) and not trim.is_read(readers, entry) then return found, reached, false, true end
      found[#found + 1] = entry
    end
    reached = entry[1]
  end
  return found, reached, #entries < LOOK, false
end

-- One step. Returns 'more', or 'waits' for a reader.
function erased_events.step(q, name, own)
  local readers = outbox.readers(q)
  local found, reached, is_all, waits = look(q, own, name, readers, clock.now(q))
  if #found > 0 then trim.delete(q, readers, found) end
  own.member = reached
  -- Deliveries were made of events that had not been read when the others were changed.
  if is_all then own.stage, own.since, own.last, own.score, own.member = erasures.BODIES, 0, '-', '', '' end
  erasures.write(q, name, own)
  return waits and 'waits' or 'more'
end

return erased_events
