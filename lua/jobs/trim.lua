-- trim: how much of the events of a queue is kept, and of its order.
local clock = require 'base/clock'
local text = require 'base/text'
local first_of = require 'base/first'
local outbox = require 'base/outbox'
local trim = {}
local call, max, min, ceil = redis.call, math.max, math.min, math.ceil

-- Transitions that are kept for readers that resume, and for a webhook or a tally that has not read them.
local EVENTS, UNREAD = 10000, 100000
-- Ended jobs are spared this long for a webhook that has not read their end, because what it sends has their results.
local SPARED_MS = 600000
local DAY = 86400000
local LAST, LOST = 20, 300 -- entries read per step

local function is_empty(...)
  for _, key in ipairs({...}) do
    if call('EXISTS', key) == 1 then return false end
  end
  return true
end

-- Deletes the order only when no job with a place is left. Returns when the first alarm goes off, whether anything reads here, and
-- whether there are restricted jobs. One command looks for four keys: one that is named twice counts two.
function trim.order(q)
  local a, c, r = q.alarms, q.cursors, q.restricted
  local found = call('EXISTS', q.inbound, a, a, c, c, c, c, r, r, r, r, r, r, r, r)
  local has_restricted = found > 7
  if found % 2 == 0 and not has_restricted and is_empty(q.reserved, q.delayed, q.parked) then call('UNLINK', q.tops, q.turns) end
  return found % 4 > 1 and first_of(q.alarms) or math.huge, found % 8 > 3, has_restricted
end

-- Jobs that ended later than this are not deleted; infinity without webhooks. A tally needs no jobs.
function trim.read_until(q, readers)
  local read = math.huge
  for _, reader in ipairs(readers) do
    if reader.field ~= outbox.TALLY then read = min(read, tonumber(reader.position:match('^%d+'))) end
  end
  return max(read, clock.now(q) - SPARED_MS)
end

-- Whether a reader has not come up to an entry.
local function lags(readers, entry)
  for _, reader in ipairs(readers) do
    if outbox.is_behind(reader.position, entry) then return true end
  end
  return false
end

-- Removes the first entries of a stream that a reader has left too long, and counts what it has lost by it.
local function lose(q, readers, kept)
  local length = tonumber(call('XINFO', 'STREAM', q.events)[2]) -- its first field is `length`
  local surplus = min(length - kept, LOST)
  if surplus <= 0 then return end
  for _, entry in ipairs(call('XRANGE', q.events, '-', '+', 'COUNT', text.of(surplus))) do
    for _, reader in ipairs(readers) do
      if outbox.is_behind(reader.position, entry[1]) then
        reader.lost, reader.has_lost = reader.lost + tonumber(entry[2][1]), true
      end
    end
  end
  for _, reader in ipairs(readers) do
    if reader.has_lost then outbox.write(q, reader) end
  end
  call('XTRIM', q.events, 'MAXLEN', text.of(length - surplus))
end

-- Keeps about ten thousand transitions, more while a reader has not come so far; deletes the stream when the queue has been empty
-- for a day. Trimming exactly reads the last entries, so without readers only the last of many steps does it.
function trim.events(q, readers, more)
  if more and #readers == 0 then
    call('XTRIM', q.events, 'MAXLEN', '~', text.of(EVENTS))
    return
  end
  local last = call('XREVRANGE', q.events, '+', '-', 'COUNT', text.of(LAST))
  if #last == 0 then return end
  local carried = 0
  for _, entry in ipairs(last) do carried = carried + tonumber(entry[2][1]) end
  if lags(readers, last[#last][1]) then
    lose(q, readers, max(ceil(UNREAD * #last / carried), 100))
  else
    call('XTRIM', q.events, 'MAXLEN', '~', text.of(max(ceil(EVENTS * #last / carried), 100)))
  end
  local idle = clock.now(q) - tonumber(last[1][1]:match('^%d+'))
  if idle > DAY and not lags(readers, last[1][1])
    and is_empty(q.inbound, q.restricted, q.reserved, q.delayed, q.parked, q.dead, q.ended) then
    call('UNLINK', q.events)
  end
end

return trim
