-- text: numbers as text and as bytes. What is asked for again and again is spelled once.
local text = {}
local floor, format, char = math.floor, string.format, string.char

-- The byte of each number.
local bytes = setmetatable({}, {__index = function(self, n)
  local byte = char(n)
  self[n] = byte
  return byte
end})
-- Three digits of each number.
local three = setmetatable({}, {__index = function(self, n)
  local digits = format('%03d', n)
  self[n] = digits
  return digits
end})
-- Whole numbers below a thousand.
local small = setmetatable({}, {__index = function(self, n)
  local digits = format('%d', n)
  self[n] = digits
  return digits
end})

-- What comes before the last six digits: times, stamps and places have few of these at a time.
local MOST_SPELLED = 64
local spelled, count = {}, 0
local function spell(millions)
  if count == MOST_SPELLED then spelled, count = {}, 0 end
  local digits = format('%.0f', millions)
  spelled[millions], count = digits, count + 1
  return digits
end

-- A whole number, digit by digit.
function text.of(n)
  if n < 1000000 then
    if n < 1000 and n >= 0 then return small[n] end
    return format('%.0f', n)
  end
  local millions = floor(n / 1000000)
  local rest = n - millions * 1000000
  local thousands = floor(rest / 1000)
  return (spelled[millions] or spell(millions)) .. three[thousands] .. three[rest - thousands * 1000]
end

-- A short text behind its length: how records and events hold names.
function text.short(s)
  return bytes[#s] .. s
end

-- A short answer: words between spaces.
function text.words(...)
  return table.concat({...}, ' ')
end

text.bytes = bytes
return text
