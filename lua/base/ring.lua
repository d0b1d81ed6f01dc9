-- ring: the history of a queue, a hash. Behind `m` and a number stand 120 minutes, behind `h` and a number 120 hours: of each
-- in which something was counted an entry, which is its place among them, which columns it has, a bit each, and these. A
-- column is how many waited and how many were held at the end, then what each total gained. Where all of it takes much room,
-- those that are over stand packed behind `M` and `H`; and if that is too much, the oldest go, and `since` says of minutes and
-- hours where what is left begins. `last` says when the totals were looked at, what they were, and of the hour that goes on
-- which it is and what it has come to.
local clock = require 'base/clock'
local text = require 'base/text'
local packed = require 'base/packed'
local ring = {}
local call, floor, bytes = redis.call, math.floor, text.bytes
local TOTALS = $TOTALS

local MINUTE, HOUR = 60000, 60
local PLACES = $HISTORY_PLACES -- in a field
local COLUMNS = #TOTALS + 2
local KEPT = {m = $HISTORY_MINUTES, h = $HISTORY_HOURS}
local MOST = 24000 -- bytes: with what Redis needs around them 32 KiB
local MOST_OF_MINUTES = 10000 -- where there are that many hours, too
local PACKED = 2 -- fields in a call, as it takes a millisecond each
-- The background task comes after the end of a minute: what it finds so soon belongs to the one that is over.
local SOON = 5000

-- Seven bits a byte, the low ones first; the eighth says that there are more.
local function spelled(n)
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
    if value > 0 then has, values = has + 2 ^ (i - 1), values .. spelled(value) end
  end
  return bytes[at % PLACES] .. spelled(has) .. values
end

local function number(entries, at)
  local n, unit = 0, 1
  while true do
    local byte = entries:byte(at)
    at, n, unit = at + 1, n + byte % 128 * unit, unit * 128
    if byte < 128 then return n, at end
  end
end

-- Two sums of the same; how many wait and are held is what it was last.
local function joined(before, columns)
  local sum = {columns[1], columns[2]}
  for i = 3, #columns do sum[i] = (before[i] or 0) + columns[i] end
  return sum
end

-- The rows of entries, by their places.
local function rows_of(entries)
  local rows, at = {}, 1
  while at <= #entries do
    local place, columns, has = entries:byte(at), {}
    has, at = number(entries, at + 1)
    for i = 1, COLUMNS do
      columns[i] = 0
      if floor(has / 2 ^ (i - 1)) % 2 == 1 then columns[i], at = number(entries, at) end
    end
    rows[place] = joined(rows[place] or {}, columns)
  end
  return rows
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

-- What was counted since the totals were looked at; nil if nothing was. And what they are.
local function gained(q, last)
  local columns, totals, any = {0, 0}, call('HMGET', q.totals, unpack(TOTALS)), false
  for i = 1, #TOTALS do
    local total = tonumber(totals[i] or 0)
    local by = math.max(total - (last.totals[i] or 0), 0)
    totals[i], columns[i + 2], any = total, by, any or by > 0
  end
  if not any then return nil, totals end
  columns[1], columns[2] = call('ZCARD', q.inbound), call('ZCARD', q.reserved)
  return columns, totals
end

-- The minute to which belongs what is found now.
local function minute_of(q)
  return floor((clock.now(q) - SOON) / MINUTE)
end

-- A field's kind and number, and whether it is packed.
local function named(field)
  local letter, digits = field:match('^([mhMH])(%d+)')
  if letter then return letter:lower(), tonumber(digits), letter ~= letter:lower() end
end

-- What is kept, to be changed: `set` and `gone` are what comes of it.
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
  return a.at < b.at or a.at == b.at and a.is_packed and not b.is_packed
end

-- The fields of minutes, or of hours, the oldest first; those that are too old go. What a clock has left that ran ahead by a
-- day goes, too.
local function in_order(kept, kind, now)
  local list, ahead = {}, (now + KEPT[kind]) / PLACES
  for field in pairs(kept.fields) do
    local own, at, is_packed = named(field)
    if own == kind then list[#list + 1] = {name = field, kind = kind, at = at, is_packed = is_packed} end
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

-- Packs the oldest that are over, as many as a call may. What a clock that was set back has entered once more stays beside
-- what is packed, and so does what would not be shorter. Answers how many.
local function pack(kept, list, most)
  local count = 0
  for i = 1, #list - 1 do
    local field = list[i]
    local name, entries = field.kind:upper() .. text.of(field.at), kept.fields[field.name]
    if count < most and not field.is_packed and not kept.fields[name] then
      local less = packed.pack(rows_of(entries), COLUMNS)
      if #less < #entries then
        drop(kept, field.name)
        put(kept, name, less)
        field.name, field.is_packed, count = name, true, count + 1
      end
    end
  end
  return count
end

-- The oldest go until it is room enough: minutes, of which those of a day take less, only where they take more than that.
local function make_room(kept, minutes, hours)
  local of_minutes = size_of(kept, minutes)
  local size = of_minutes + size_of(kept, hours)
  while size > MOST and #minutes + #hours > 2 do
    local is_minute = #minutes > 1 and of_minutes > MOST_OF_MINUTES or #hours <= 1
    local oldest = table.remove(is_minute and minutes or hours, 1)
    local length = #kept.fields[oldest.name]
    size, of_minutes = size - length, of_minutes - (is_minute and length or 0)
    drop(kept, oldest.name)
    kept.since[oldest.kind] = math.max(kept.since[oldest.kind], (oldest.at + 1) * PLACES)
    put(kept, 'since', words({kept.since.m, kept.since.h}))
  end
end

local function write(q, kept, minute)
  local minutes, hours = in_order(kept, 'm', minute), in_order(kept, 'h', floor(minute / HOUR))
  if size_of(kept, minutes) + size_of(kept, hours) > MOST then
    local count = pack(kept, minutes, PACKED)
    count = count + pack(kept, hours, PACKED - count)
    -- Nothing is lost as long as there is something to pack.
    if count < PACKED then make_room(kept, minutes, hours) end
  end
  local set = {}
  for field, entries in pairs(kept.set) do set[#set + 1], set[#set + 2] = field, entries end
  call('HSET', q.history, unpack(set))
  if #kept.gone > 0 then call('HDEL', q.history, unpack(kept.gone)) end
end

-- Enters what was counted, once a minute at most. Answers whether anything is left that waits for the minute's end.
function ring.enter(q)
  local now, last = clock.now(q), read_last(q)
  local columns, totals = gained(q, last)
  if not columns then return false end
  -- A clock that was set back is taken for what it says.
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

local function tell(shown, at, columns)
  shown[#shown + 1], shown[#shown + 2], shown[#shown + 3] = at - at % PLACES, 'entries', entry(at, columns)
end

-- All minutes ('m') or hours ('h'), as they lie there: where what is left begins (-1: nothing was dropped), then the first place
-- of a field, its form, what it holds. Then what is not entered yet.
function ring.show(q, kind)
  local last, kept = read_last(q), open(q)
  local shown, late = {kept.since[kind] > 0 and kept.since[kind] or -1}, {}
  for field, entries in pairs(kept.fields) do
    local own, at, is_packed = named(field)
    if own == kind then
      -- What was entered behind a packed one is the later.
      local list = is_packed and shown or late
      list[#list + 1], list[#list + 2], list[#list + 3] = at * PLACES, is_packed and 'packed' or 'entries', entries
    end
  end
  for _, value in ipairs(late) do shown[#shown + 1] = value end
  if kind == 'h' and #last.columns > 0 then tell(shown, last.hour, last.columns) end
  local columns = gained(q, last)
  if columns then tell(shown, floor(minute_of(q) / (kind == 'h' and HOUR or 1)), columns) end
  return shown
end

return ring
