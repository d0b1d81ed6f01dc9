-- history_codec: compresses a full field of the history to half its size: the rows as bits, column by column. A column begins with
-- its coding, of three the shortest: plain, delta to the previous row, or difference from a prediction made of other columns.
-- Low bits come first. Without it the queue of 30,000 jobs a day that the contract promises to hold would need 31,680 bytes of the
-- 24,000: 1,440 minutes of 7 and 2,160 hours of 10.
local text = require 'base/text'
local history_codec = {}
local min, max, frexp, bytes = math.min, math.max, math.frexp, text.bytes

local PLACES = $HISTORY_PLACES -- in a field
local PLAIN, CHANGE, EXPECTED, NOUGHT = $PLAIN, $CHANGE, $EXPECTED, $ALL_ZERO
local WAITING, RESERVED = $WAITING_COLUMN, $RESERVED_COLUMN
local ENQUEUED, HANDED_OUT, COMPLETED = $ENQUEUED_COLUMN, $HANDED_OUT_COLUMN, $COMPLETED_COLUMN
-- Rice quotients from this on are escaped: length and value follow.
local LONG = $LONG_FROM

-- A table, because computing a power costs as much as the rest of a bit.
local POWERS = {}
for n = 0, 63 do POWERS[n] = 2 ^ n end

-- The output of the current field, kept here so that no closures are built.
local out, open, count

local function begin()
  out, open, count = {}, 0, 0
end

local function put(value, width)
  while width > 0 do
    local some = min(width, 24)
    local unit = POWERS[some]
    local low = value % unit
    open, count = open + low * POWERS[count], count + some
    value, width = (value - low) / unit, width - some
    while count >= 8 do
      local byte = open % 256
      out[#out + 1] = bytes[byte]
      open, count = (open - byte) / 256, count - 8
    end
  end
end

local function written()
  if count > 0 then out[#out + 1] = bytes[open] end
  return table.concat(out)
end

-- Rice coding: the quotient by 2^k in unary, then k bits of remainder.
local function put_numbers(list, k)
  local unit = POWERS[k]
  for _, value in ipairs(list) do
    local left = value % unit
    local times = (value - left) / unit
    if times < LONG then
      local mark = POWERS[times + 1]
      put(mark / 2 - 1 + left * mark, times + 1 + k)
    else
      local _, length = frexp(value)
      put(POWERS[LONG] - 1, LONG)
      put(length, $LENGTH_BITS)
      put(value, length)
    end
  end
end

-- Predictions: jobs that arrive are handed out and then completed; the gauges follow from these.
local EXPECT = {
  [WAITING] = function(row, before) return before[WAITING] + row[ENQUEUED] - row[HANDED_OUT] end,
  [RESERVED] = function(row, before) return before[RESERVED] + row[HANDED_OUT] - row[COMPLETED] end,
  [HANDED_OUT] = function(row) return row[ENQUEUED] end,
  [COMPLETED] = function(row) return row[HANDED_OUT] end,
}

-- The differences of a column from the previous row, or from `expect`, zigzag encoded; and their sum.
local function differences(rows, column, expect)
  local list, sum = {}, 0
  for i = 1, #rows do
    local before = rows[i - 1] or rows.nothing
    local by = rows[i][column] - (expect and expect(rows[i], before) or before[column])
    by = by >= 0 and 2 * by or -2 * by - 1
    list[i], sum = by, sum + by
  end
  return list, sum
end

local function put_column(rows, column)
  local way, list, least = PLAIN, {}, 0
  for i = 1, #rows do
    local value = rows[i][column]
    list[i], least = value, least + value
  end
  if least == 0 then return put(NOUGHT, $ENCODING_BITS) end
  local changes, changed = differences(rows, column)
  if changed < least then way, list, least = CHANGE, changes, changed end
  if EXPECT[column] then
    local surprises, surprised = differences(rows, column, EXPECT[column])
    if surprised < least then way, list, least = EXPECTED, surprises, surprised end
  end
  -- The parameter that is shortest for a geometric distribution of this mean.
  local _, k = frexp(least * 0.48 / #rows)
  k = max(k, 0)
  put(way, $ENCODING_BITS)
  put(k, $LENGTH_BITS)
  put_numbers(list, k)
end

-- Rows by their places, each as many columns as the others.
function history_codec.pack(by_place, columns)
  begin()
  local rows = {nothing = {}}
  for column = 1, columns do rows.nothing[column] = 0 end
  put(columns, $COLUMNS_BITS)
  for place = 0, PLACES - 1 do
    local row = by_place[place]
    rows[#rows + 1] = row
    put(row and 1 or 0, 1)
  end
  for column = ENQUEUED, columns do put_column(rows, column) end
  put_column(rows, WAITING)
  put_column(rows, RESERVED)
  return written()
end

return history_codec
