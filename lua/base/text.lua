-- text: numbers as text and as bytes. What is asked for again and again is spelled once.
local text = {}
local floor, format, char = math.floor, string.format, string.char

-- The byte of each number.
local bytes = setmetatable({}, {__index = function(self, n)
  local byte = char(n)
  self[n] = byte
  return byte
end})
-- The last three digits of each number.
local endings = setmetatable({}, {__index = function(self, n)
  local ending = format('%03d', n)
  self[n] = ending
  return ending
end})

-- What comes before them: times, stamps and places have few of these at a time.
local MOST_SPELLED = 64
local spelled, count = {}, 0
local function spell(thousands)
  if count == MOST_SPELLED then spelled, count = {}, 0 end
  local digits = format('%.0f', thousands)
  spelled[thousands], count = digits, count + 1
  return digits
end

-- A whole number, digit by digit.
function text.of(n)
  local thousands = floor(n / 1000)
  if thousands <= 0 then return format('%.0f', n) end
  return (spelled[thousands] or spell(thousands)) .. endings[n - thousands * 1000]
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
