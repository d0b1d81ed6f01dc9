-- json_escapes: decodes escapes in JSON text for search. A producer may escape any character of a string.
local json_escapes = {}
local char, floor, format, byte = string.char, math.floor, string.format, string.byte
-- A byte that UTF-8 never contains stands for an escaped backslash, so that it starts no other escape.
local BACKSLASH = '\255'
local SHORT = {['\\'] = BACKSLASH, ['"'] = '"', ['/'] = '/', b = '\b', f = '\f', n = '\n', r = '\r', t = '\t'}

local function utf8(point)
  if point < 0x80 then return char(point) end
  local last, rest = point % 64, floor(point / 64)
  if point < 0x800 then return char(192 + rest, 128 + last) end
  local middle, first = rest % 64, floor(rest / 64)
  if point < 0x10000 then return char(224 + first, 128 + middle, 128 + last) end
  return char(240 + floor(first / 64), 128 + first % 64, 128 + middle, 128 + last)
end

-- The character of four hex digits; nil for half of a surrogate pair, which stays as it is.
local MAX_KEPT, kept = 1024, 0
local characters = setmetatable({}, {__index = function(self, digits)
  local point = tonumber(digits, 16)
  if point >= 0xd800 and point < 0xe000 then return end
  local character = point == 0x5c and BACKSLASH or utf8(point)
  if kept < MAX_KEPT then
    self[digits], kept = character, kept + 1
  end
  return character
end})

local function pair(high, low)
  return utf8(0x10000 + (tonumber(high, 16) - 0xd800) * 1024 + tonumber(low, 16) - 0xdc00)
end

-- JSON text with each escape replaced by its character.
function json_escapes.unescape(json)
  local plain = json:gsub('\\([^u])', SHORT)
  if plain:find('\\u', 1, true) then
    plain = plain:gsub('\\u([dD][89abAB]%x%x)\\u([dD][c-fC-F]%x%x)', pair):gsub('\\u(%x%x%x%x)', characters)
  end
  return plain:find(BACKSLASH, 1, true) and plain:gsub(BACKSLASH, '\\') or plain
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

-- The first characters of a text that have no short escape, each in lower case and as an escape.
local SIGNS = 8
function json_escapes.signs(text)
  local signs = {}
  for character in text:gmatch('[%z\1-\127\194-\244][\128-\191]*') do
    local is_short = character:find('^["\\/%c]')
    if not is_short and #signs < SIGNS then signs[#signs + 1] = {character:lower(), escape_of(character)} end
  end
  return signs
end

-- False if the JSON lacks one of these characters in both forms, so that it need not be decoded.
function json_escapes.may_hold(json, signs)
  local small = json:lower()
  for _, sign in ipairs(signs) do
    if not small:find(sign[1], 1, true) and not small:find(sign[2], 1, true) then return false end
  end
  return true
end

return json_escapes
