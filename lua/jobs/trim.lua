-- trim: how much of the events of a queue is kept, and of its order.
local clock = require 'base/clock'
local text = require 'base/text'
local first_of = require 'base/first'
local outbox = require 'base/outbox'
local trim = {}
local call, max, min = redis.call, math.max, math.min

-- Transitions that are kept for readers that resume, and for a webhook or a tally that has not read them.
local EVENTS, UNREAD = 10000, 100000
-- Ended jobs are spared this long for a webhook that has not read their end, because what it sends has their results.
local SPARED_MS = 600000
local DAY = clock.DAY
-- The transitions of a part; the entries that the first command reads (each further one reads twice as many); the transitions, and the
-- entries, after which a step has counted enough.
local PART, CHUNK, ENOUGH, ENTRIES = 2000, 10, 4000, 300
local LOST = 300 -- entries read per step
local WHOLE = $WHOLE_ENTRY -- the index of a reader that has read all of an entry
-- The parts of the stream, the oldest first, each with the id of its last entry and its transitions. Only a total in name.
local FIELD = 'parts'

local function is_empty(...)
  for _, key in ipairs({...}) do
    if call('EXISTS', key) == 1 then return false end
  end
  return true
end

-- Deletes the order only when no job with a place is left. Returns when the first alarm goes off, and whether there are restricted jobs.
-- One command looks for three keys: one that is named twice counts two.
function trim.order(q)
  local a, r = q.alarms, q.restricted
  local found = call('EXISTS', q.inbound, a, a, r, r, r, r)
  local has_restricted = found > 3
  if found % 2 == 0 and not has_restricted and is_empty(q.reserved, q.delayed, q.parked) then call('UNLINK', q.tops, q.turns) end
  return found % 4 > 1 and first_of(q.alarms) or math.huge, has_restricted
end

-- Jobs that ended later than this are not deleted; infinity without webhooks. A tally needs no jobs.
function trim.read_until(q, readers)
  local read = math.huge
  for _, reader in ipairs(readers) do
    if reader.field ~= outbox.TALLY then read = min(read, tonumber(reader.position:match('^%d+'))) end
  end
  return max(read, clock.now(q) - SPARED_MS)
end

-- The parts of the stream, {id, n} each, as they were counted last.
local function read_parts(q)
  local parts = {}
  for id, n in string.gmatch(call('HGET', q.totals, FIELD) or '', '(%S+) (%d+)') do parts[#parts + 1] = {id = id, n = tonumber(n)} end
  return parts
end

local function write_parts(q, parts)
  local words = {}
  for i, part in ipairs(parts) do words[i] = part.id .. ' ' .. text.of(part.n) end
  call('HSET', q.totals, FIELD, table.concat(words, ' '))
end

-- Counts the entries that have come since. Returns whether there were any, and whether there are more.
local function count(q, parts)
  local read, counted, limit = 0, 0, CHUNK
  local is_all
  repeat
    local last = parts[#parts]
    local found = call('XRANGE', q.events, last and '(' .. last.id or '-', '+', 'COUNT', text.of(limit))
    for _, entry in ipairs(found) do
      if not last or last.n >= PART then
        last = {n = 0}
        parts[#parts + 1] = last
      end
      local n = tonumber(entry[2][1])
      last.id, last.n, counted = entry[1], last.n + n, counted + n
    end
    read, is_all, limit = read + #found, #found < limit, limit * 2
  until is_all or read >= ENTRIES or counted >= ENOUGH
  return read > 0, not is_all
end

-- How many parts at the front are more than `kept` transitions.
local function surplus(parts, kept)
  local newer, n = 0, #parts
  while n > 0 and newer < kept do newer, n = newer + parts[n].n, n - 1 end
  return n
end

local function id_after(id)
  local ms, sequence = id:match('^(%d+)%-(%d+)')
  return ms .. '-' .. text.of(sequence + 1)
end

local function drop(parts, n)
  for _ = 1, n do table.remove(parts, 1) end
end

-- Without the parts that are gone: another version, or an operator, may have cut the stream.
local function drop_gone(q, parts)
  local first = call('XRANGE', q.events, '-', '+', 'COUNT', '1')[1]
  while parts[1] and (not first or outbox.is_behind(parts[1].id, first[1])) do drop(parts, 1) end
end

-- How many of the `n` transitions of an entry a reader has not read.
local function unread_of(position, id, n)
  if outbox.is_behind(position, id) then return n end
  if outbox.is_behind(id, position) then return 0 end
  local index = tonumber(position:match('^%d+%-%d+%-(%d+)') or 0)
  return index == WHOLE and 0 or max(n - index - 1, 0)
end

-- The position of the reader that has come least far; nil for none.
local function slowest(readers)
  local found
  for _, reader in ipairs(readers) do
    if not found or outbox.is_behind(reader.position, found) then found = reader.position end
  end
  return found
end

-- Whether every reader has read all of an entry.
function trim.is_read(readers, entry)
  for _, reader in ipairs(readers) do
    if unread_of(reader.position, entry[1], tonumber(entry[2][1])) > 0 then return false end
  end
  return true
end

-- A reader loses what it has not read of an entry.
local function lose(readers, id, n)
  for _, reader in ipairs(readers) do
    local unread = unread_of(reader.position, id, n)
    if unread > 0 then reader.lost, reader.has_lost = reader.lost + unread, true end
  end
end

local function write_lost(q, readers)
  for _, reader in ipairs(readers) do
    if reader.has_lost then outbox.write(q, reader) end
  end
end

-- Deletes entries from the middle of the stream too. Without the right to do that they stay until they are the oldest.
function trim.delete(q, readers, entries)
  local parts, ids = read_parts(q), {}
  for i, entry in ipairs(entries) do
    local n = tonumber(entry[2][1])
    ids[i] = entry[1]
    for _, part in ipairs(parts) do
      if not outbox.is_behind(part.id, ids[i]) then
        part.n = max(part.n - n, 0)
        break
      end
    end
    lose(readers, ids[i], n)
  end
  local answer = redis.pcall('XDEL', q.events, unpack(ids))
  if type(answer) ~= 'number' then return end
  write_lost(q, readers)
  if #parts > 0 then write_parts(q, parts) end
end

-- Removes the first entries of a stream that a reader has left too long, up to this one, and counts what it has lost by it.
local function drop_unread(q, readers, parts, until_id)
  local entries = call('XRANGE', q.events, '-', until_id, 'COUNT', text.of(LOST))
  for _, entry in ipairs(entries) do
    local id, n = entry[1], tonumber(entry[2][1])
    parts[1].n = max(parts[1].n - n, 0)
    if parts[1].id == id then drop(parts, 1) end
    lose(readers, id, n)
  end
  write_lost(q, readers)
  if #entries > 0 then call('XTRIM', q.events, 'MINID', id_after(entries[#entries][1])) end
end

-- Removes the parts that no reader needs. Returns whether it has, and whether a reader holds up more than it may.
local function cut(q, readers, parts, may_lose)
  local n, unread, position = surplus(parts, EVENTS), surplus(parts, UNREAD), slowest(readers)
  -- A reader may stand within an entry.
  while n > 0 and position and not outbox.is_behind(parts[n].id, position) do n = n - 1 end
  if n > 0 then
    call('XTRIM', q.events, 'MINID', id_after(parts[n].id))
    drop(parts, n)
  end
  if unread <= n then return n > 0, false end
  if may_lose then drop_unread(q, readers, parts, parts[unread - n].id) end
  return n > 0 or may_lose, true
end

-- Keeps ten thousand transitions, more while a reader has not come so far; deletes the stream when the queue has been empty for a day.
-- `may_lose`: a reader that is too far behind loses what it has not read. Returns whether there is more to do, and whether a reader is too
-- far behind.
function trim.events(q, readers, may_lose)
  local parts = read_parts(q)
  local is_new, more = count(q, parts)
  if #parts == 0 then return more, false end
  local is_cut, is_late = false, false
  if surplus(parts, EVENTS) > 0 then drop_gone(q, parts) end
  if surplus(parts, EVENTS) > 0 then
    readers = readers or outbox.readers(q)
    is_cut, is_late = cut(q, readers, parts, may_lose)
  end
  local last = parts[#parts] and parts[#parts].id or '0-0'
  local idle = clock.now(q) - tonumber(last:match('^%d+'))
  if idle > DAY and not more and is_empty(q.inbound, q.restricted, q.reserved, q.delayed, q.parked, q.dead, q.ended) then
    local position = slowest(readers or outbox.readers(q))
    if not position or unread_of(position, last, math.huge) == 0 then
      call('UNLINK', q.events)
      call('HDEL', q.totals, FIELD)
      return false, false
    end
  end
  if is_new or is_cut then write_parts(q, parts) end
  return more or is_late and may_lose, is_late
end

return trim
