-- history: the counts of a queue by minute and by hour, in one hash. The field `m` and a number holds 120 minutes, `h` and a
-- number 120 hours. A minute or hour that counted something has an entry: its place in the field, a bit for each column that is
-- not 0, and these columns. Columns are the jobs waiting and reserved at its end, then the gain of each total. Over the size
-- limit, the oldest fields are dropped, and `since` holds the first minute and hour that is left. `last` holds when the totals were
-- last read, the totals, and the current hour with its sums.
local clock = require 'base/clock'
local text = require 'base/text'
local history = {}
local call, floor, bytes = redis.call, math.floor, text.bytes
local TOTALS = $TOTALS

local MINUTE, HOUR = clock.MINUTE, 60
local PLACES = $HISTORY_PLACES -- in a field
local KEPT = {m = $HISTORY_MINUTES, h = $HISTORY_HOURS}
-- 64 KiB with the overhead of Redis: enough for all minutes and hours of a queue of 30,000 jobs a day.
local MAX_BYTES = 56000
local MAX_BYTES_OF_MINUTES = 20000 -- when hours compete for the space
-- The background task runs just after a minute ends: counts that it finds within this time belong to the previous minute.
local SOON = 5000

-- Varint: seven bits a byte, low bits first; the eighth bit marks that more follow.
local function varint(n)
  local begin = ''
  while n >= 128 do
    local low = n % 128
    begin, n = begin .. bytes[low + 128], (n - low) / 128
  end
  return begin .. bytes[n]
end

local function entry(at, columns)
  local has, values = 0, ''
  for i, value in ipairs(columns) do
    if value > 0 then has, values = has + 2 ^ (i - 1), values .. varint(value) end
  end
  return bytes[at % PLACES] .. varint(has) .. values
end

-- Adds two rows; the gauges (waiting, reserved) are those of the later one.
local function joined(before, columns)
  local sum = {columns[1], columns[2]}
  for i = $GAUGES + 1, #columns do sum[i] = (before[i] or 0) + columns[i] end
  return sum
end

local function numbers(words)
  local list = {}
  for digits in words:gmatch('%d+') do list[#list + 1] = tonumber(digits) end
  return list
end

local function words(list)
  local digits = {}
  for i, n in ipairs(list) do digits[i] = text.of(n) end
  return table.concat(digits, ' ')
end

local function read_last(q)
  local raw = call('HGET', q.history, 'last') or '0,,0,'
  local at, totals, hour, columns = raw:match('^(%d+),([^,]*),(%d+),([^,]*)')
  return {at = tonumber(at), totals = numbers(totals), hour = tonumber(hour), columns = numbers(columns)}
end

-- The gain since the totals were last read (nil for none), and the totals now.
local function deltas(q, last)
  local columns, totals, any = {0, 0}, call('HMGET', q.totals, unpack(TOTALS)), false
  for i = 1, #TOTALS do
    local total = tonumber(totals[i] or 0)
    local by = math.max(total - (last.totals[i] or 0), 0)
    totals[i], columns[i + $GAUGES], any = total, by, any or by > 0
  end
  if not any then return nil, totals end
  columns[1], columns[2] = call('ZCARD', q.inbound) + call('ZCARD', q.restricted), call('ZCARD', q.reserved)
  return columns, totals
end

-- The minute that a count found now belongs to.
local function minute_of(q)
  return floor((clock.now(q) - SOON) / MINUTE)
end

-- The kind of a field and its number; nil for another.
local function named(field)
  local kind, digits = field:match('^([mh])(%d+)')
  return kind, tonumber(digits)
end

-- The hash as a table; `set` and `gone` collect the changes to write.
local function open(q)
  local flat, kept = call('HGETALL', q.history), {}
  for i = 1, #flat, 2 do kept[flat[i]] = flat[i + 1] end
  local since = numbers(kept.since or '')
  return {fields = kept, set = {}, gone = {}, since = {m = since[1] or 0, h = since[2] or 0}}
end

local function put(kept, field, entries)
  kept.fields[field], kept.set[field] = entries, entries
end

local function drop(kept, field)
  kept.fields[field], kept.set[field], kept.gone[#kept.gone + 1] = nil, nil, field
end

local function append(kept, kind, at, columns)
  local field = kind .. text.of(floor(at / PLACES))
  put(kept, field, (kept.fields[field] or '') .. entry(at, columns))
end

local function is_older(a, b)
  return a.at < b.at
end

-- The fields of minutes or of hours, oldest first; fields past their retention are dropped, and so are those that a clock a day
-- ahead has left.
local function in_order(kept, kind, now)
  local list, ahead = {}, (now + KEPT[kind]) / PLACES
  for field in pairs(kept.fields) do
    local own, at = named(field)
    if own == kind then list[#list + 1] = {name = field, kind = kind, at = at} end
  end
  table.sort(list, is_older)
  local stays = {}
  for _, field in ipairs(list) do
    if (field.at + 1) * PLACES <= now - KEPT[kind] or field.at > ahead then
      drop(kept, field.name)
    else
      stays[#stays + 1] = field
    end
  end
  return stays
end

local function size_of(kept, list)
  local size = 0
  for _, field in ipairs(list) do size = size + #kept.fields[field.name] end
  return size
end

-- Drops the oldest fields until the size fits: minutes only while they exceed their own limit.
local function make_room(kept, minutes, hours)
  local of_minutes = size_of(kept, minutes)
  local size = of_minutes + size_of(kept, hours)
  while size > MAX_BYTES and #minutes + #hours > 2 do
    local is_minute = #minutes > 1 and of_minutes > MAX_BYTES_OF_MINUTES or #hours <= 1
    local oldest = table.remove(is_minute and minutes or hours, 1)
    local length = #kept.fields[oldest.name]
    size, of_minutes = size - length, of_minutes - (is_minute and length or 0)
    drop(kept, oldest.name)
    kept.since[oldest.kind] = math.max(kept.since[oldest.kind], (oldest.at + 1) * PLACES)
    put(kept, 'since', words({kept.since.m, kept.since.h}))
  end
end

-- This version reads no packed fields, which older ones made.
local function drop_packed(kept)
  for field in pairs(kept.fields) do
    if field:find('^[MH]%d') then drop(kept, field) end
  end
end

local function write(q, kept, minute)
  local minutes, hours = in_order(kept, 'm', minute), in_order(kept, 'h', floor(minute / HOUR))
  make_room(kept, minutes, hours)
  drop_packed(kept)
  local set = {}
  for field, entries in pairs(kept.set) do set[#set + 1], set[#set + 2] = field, entries end
  call('HSET', q.history, unpack(set))
  if #kept.gone > 0 then call('HDEL', q.history, unpack(kept.gone)) end
end

-- Enters the counts, at most once a minute. Returns whether some wait for the end of the minute.
function history.enter(q)
  local now, last = clock.now(q), read_last(q)
  local columns, totals = deltas(q, last)
  if not columns then return false end
  -- A clock that was set back is believed.
  if last.at >= now - now % MINUTE and last.at <= now then return true end
  local minute, kept = minute_of(q), open(q)
  local hour = floor(minute / HOUR)
  append(kept, 'm', minute, columns)
  if hour ~= last.hour and #last.columns > 0 then append(kept, 'h', last.hour, last.columns) end
  local of_hour = joined(hour == last.hour and last.columns or {}, columns)
  put(kept, 'last', table.concat({text.of(now), words(totals), text.of(hour), words(of_hour)}, ','))
  write(q, kept, minute)
  return false
end

local function append_shown(shown, first, entries)
  shown[#shown + 1], shown[#shown + 2] = first, entries
end

local function append_row(shown, at, columns)
  append_shown(shown, at - at % PLACES, entry(at, columns))
end

-- All minutes ('m') or hours ('h') as stored: the first one left (-1: none was dropped), then of each field its first place and its
-- entries; last the counts that are not entered yet.
function history.show(q, kind)
  local last, kept = read_last(q), open(q)
  local shown = {kept.since[kind] > 0 and kept.since[kind] or -1}
  for field, entries in pairs(kept.fields) do
    local own, at = named(field)
    if own == kind then append_shown(shown, at * PLACES, entries) end
  end
  if kind == 'h' and #last.columns > 0 then append_row(shown, last.hour, last.columns) end
  local columns = deltas(q, last)
  if columns then append_row(shown, floor(minute_of(q) / (kind == 'h' and HOUR or 1)), columns) end
  return shown
end

return history
