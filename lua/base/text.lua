-- text: numbers as text and as bytes. What is asked for again and again is spelled once.
local text = {}
local floor, format, rep = math.floor, string.format, string.rep

-- The byte of each number.
local bytes = setmetatable({}, {__index = function(self, n)
  local byte = string.char(n)
  self[n] = byte
  return byte
end})
-- The last three digits of each number.
local endings = setmetatable({}, {__index = function(self, n)
  local ending = format('%03d', n)
  self[n] = ending
  return ending
end})
local thousands, spelled = 0, ''

-- A whole number, digit by digit: neighbours share all but their last three.
function text.of(n)
  local head = floor(n / 1000)
  if head == 0 or n < 0 then return format('%.0f', n) end
  if head ~= thousands then thousands, spelled = head, format('%.0f', head) end
  return spelled .. endings[n - head * 1000]
end

-- A short text behind its length: how records and events hold names.
function text.short(s)
  return bytes[#s] .. s
end

-- NULs, for what has not happened yet.
function text.zeros(n)
  return rep('\0', n)
end

text.bytes = bytes
return text
