-- spelt: what JSON means, however it is spelt. A producer may write any character of a text as an escape, and many do.
local spelt = {}
local char, floor, format, byte = string.char, math.floor, string.format, string.byte
-- A byte that no text of UTF-8 has stands for a backslash that is meant, so that it begins no other escape.
local MEANT = '\255'
local SHORT = {['\\'] = MEANT, ['"'] = '"', ['/'] = '/', b = '\b', f = '\f', n = '\n', r = '\r', t = '\t'}

local function utf8(point)
  if point < 0x80 then return char(point) end
  local last, rest = point % 64, floor(point / 64)
  if point < 0x800 then return char(192 + rest, 128 + last) end
  local middle, first = rest % 64, floor(rest / 64)
  if point < 0x10000 then return char(224 + first, 128 + middle, 128 + last) end
  return char(240 + floor(first / 64), 128 + first % 64, 128 + middle, 128 + last)
end

-- Of four digits the character, which for half of a pair is nil: it stays as it is.
local MOST_KEPT, kept = 1024, 0
local points = setmetatable({}, {__index = function(self, digits)
  local point = tonumber(digits, 16)
  if point >= 0xd800 and point < 0xe000 then return end
  local said = point == 0x5c and MEANT or utf8(point)
  if kept < MOST_KEPT then
    self[digits], kept = said, kept + 1
  end
  return said
end})

local function pair(high, low)
  return utf8(0x10000 + (tonumber(high, 16) - 0xd800) * 1024 + tonumber(low, 16) - 0xdc00)
end

-- JSON text with each escape as the character that it means.
function spelt.meaning(json)
  local plain = json:gsub('\\([^u])', SHORT)
  if plain:find('\\u', 1, true) then
    plain = plain:gsub('\\u([dD][89abAB]%x%x)\\u([dD][c-fC-F]%x%x)', pair):gsub('\\u(%x%x%x%x)', points)
  end
  return plain:find(MEANT, 1, true) and plain:gsub(MEANT, '\\') or plain
end

local function escape_of(character)
  local point = byte(character)
  if point >= 240 then point = point - 240 elseif point >= 224 then point = point - 224
  elseif point >= 192 then point = point - 192 end
  for at = 2, #character do point = point * 64 + byte(character, at) - 128 end
  if point < 0x10000 then return format('\\u%04x', point) end
  local rest = point - 0x10000
  return format('\\u%04x\\u%04x', 0xd800 + floor(rest / 1024), 0xdc00 + rest % 1024)
end

-- The characters that a text begins with, those that have no short escape, each in both of its spellings in small letters.
local SIGNS = 8
function spelt.signs(text)
  local signs = {}
  for character in text:gmatch('[%z\1-\127\194-\244][\128-\191]*') do
    local is_short = character:find('^["\\/%c]')
    if not is_short and #signs < SIGNS then signs[#signs + 1] = {character:lower(), escape_of(character)} end
  end
  return signs
end

-- False of JSON that holds one of them in neither spelling: then there is no need to read all of it.
function spelt.may_hold(json, signs)
  local small = json:lower()
  for _, sign in ipairs(signs) do
    if not small:find(sign[1], 1, true) and not small:find(sign[2], 1, true) then return false end
  end
  return true
end

return spelt
