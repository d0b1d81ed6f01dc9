-- ring: the history of a queue, a hash. Behind `m` and a number stand 120 minutes, behind `h` and a number 120 hours: of each
-- in which something was counted an entry, which is its place among them, which columns it has, a bit each, and these. A
-- column is how many waited and how many were held at the end, then what each total gained. `last` says when the totals were
-- looked at, what they were, and of the hour that goes on which it is and what it has come to.
local clock = require 'base/clock'
local text = require 'base/text'
local ring = {}
local call, floor, bytes = redis.call, math.floor, text.bytes
local TOTALS = $TOTALS

local MINUTE, HOUR = 60000, 60
local PLACES = 120 -- in a field
local KEPT = {m = $HISTORY_MINUTES, h = $HISTORY_HOURS}
local MOST = 12000 -- bytes of all minutes, and of all hours: with what Redis needs around them 32 KiB
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

-- Two sums of the same; how many wait and are held is what it was last.
local function joined(before, columns)
  local sum = {columns[1], columns[2]}
  for i = 3, #columns do sum[i] = (before[i] or 0) + columns[i] end
  return sum
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

-- The fields of all minutes, or of all hours, that go: those that are too old, and the oldest of more than there may be.
-- What a clock has left that ran ahead by a day goes, too.
local function overflow(kept, kind, now)
  local fields, size, gone = {}, 0, {}
  for field, entries in pairs(kept) do
    local number = tonumber(field:match('^' .. kind .. '(%d+)'))
    if number then fields[#fields + 1], size = number, size + #entries end
  end
  table.sort(fields)
  local ahead = (now + KEPT[kind]) / PLACES
  for _, number in ipairs(fields) do
    local field = kind .. text.of(number)
    if (number + 1) * PLACES <= now - KEPT[kind] or number > ahead or size > MOST then
      gone[#gone + 1], size = field, size - #kept[field]
    end
  end
  return gone
end

local function read_kept(q)
  local flat, kept = call('HGETALL', q.history), {}
  for i = 1, #flat, 2 do kept[flat[i]] = flat[i + 1] end
  return kept
end

local function append(kept, changed, kind, at, columns)
  local field = kind .. text.of(floor(at / PLACES))
  kept[field] = (kept[field] or '') .. entry(at, columns)
  changed[field] = kept[field]
end

local function write(q, kept, changed, minute)
  local set, gone = {}, overflow(kept, 'm', minute)
  for _, field in ipairs(overflow(kept, 'h', floor(minute / HOUR))) do gone[#gone + 1] = field end
  for _, field in ipairs(gone) do changed[field] = nil end
  for field, entries in pairs(changed) do set[#set + 1], set[#set + 2] = field, entries end
  call('HSET', q.history, unpack(set))
  if #gone > 0 then call('HDEL', q.history, unpack(gone)) end
end

-- Enters what was counted, once a minute at most. Answers whether anything is left that waits for the minute's end.
function ring.enter(q)
  local now, last = clock.now(q), read_last(q)
  local columns, totals = gained(q, last)
  if not columns then return false end
  -- A clock that was set back is taken for what it says.
  if last.at >= now - now % MINUTE and last.at <= now then return true end
  local minute, kept, changed = minute_of(q), read_kept(q), {}
  local hour = floor(minute / HOUR)
  append(kept, changed, 'm', minute, columns)
  if hour ~= last.hour and #last.columns > 0 then append(kept, changed, 'h', last.hour, last.columns) end
  local of_hour = joined(hour == last.hour and last.columns or {}, columns)
  changed.last = table.concat({text.of(now), words(totals), text.of(hour), words(of_hour)}, ',')
  write(q, kept, changed, minute)
  return false
end

local function tell(shown, at, columns)
  shown[#shown + 1], shown[#shown + 2] = at - at % PLACES, entry(at, columns)
end

-- All minutes ('m') or hours ('h'), as they lie there: the first place of a field, its entries. Then what is not entered yet.
function ring.show(q, kind)
  local shown, last = {}, read_last(q)
  for field, entries in pairs(read_kept(q)) do
    local number = tonumber(field:match('^' .. kind .. '(%d+)'))
    if number then shown[#shown + 1], shown[#shown + 2] = number * PLACES, entries end
  end
  if kind == 'h' and #last.columns > 0 then tell(shown, last.hour, last.columns) end
  local columns = gained(q, last)
  if columns then tell(shown, floor(minute_of(q) / (kind == 'h' and HOUR or 1)), columns) end
  return shown
end

return ring
