-- text: numbers as text and as bytes. Frequent ones are cached.
local text = {}
local format, char, concat = string.format, string.char, table.concat
local unpack_short = struct.unpack

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

-- The digits before the last six: times, stamps and places have few distinct ones at a time.
local MAX_SPELLED = 64
local spelled, count = {}, 0
local function spell(millions)
  if count == MAX_SPELLED then spelled, count = {}, 0 end
  local digits = format('%.0f', millions)
  spelled[millions], count = digits, count + 1
  return digits
end

-- The last digits before the final three: numbers of a list follow each other.
local last, last_digits = -1, ''
local function begin(thousands)
  local rest = thousands % 1000
  local millions = (thousands - rest) / 1000
  last, last_digits = thousands * 1000, (spelled[millions] or spell(millions)) .. three[rest]
end

-- A whole number, digit by digit.
function text.of(n)
  if n < 1000 and n >= 0 then return small[n] end
  if n < 1000000 then return format('%.0f', n) end
  local units = n % 1000
  if n - units ~= last then begin((n - units) / 1000) end
  return last_digits .. three[units]
end

-- A short text after its length: how records and events hold names.
function text.short(s)
  return bytes[#s] .. s
end

-- Whether a list of short texts holds one.
function text.has(list, wanted)
  local at = 1
  while at <= #list do
    local own, stop = unpack_short('$SHORT_FORMAT', list, at)
    if own == wanted then return true end
    at = stop
  end
  return false
end

-- The texts of such a list.
function text.names(list)
  local names, at = {}, 1
  while at <= #list do names[#names + 1], at = unpack_short('$SHORT_FORMAT', list, at) end
  return names
end

-- A short answer: words between spaces.
function text.words(...)
  return concat({...}, ' ')
end

text.bytes = bytes
return text
