-- unnamed: texts and lists without the name of a worker.
local text = require 'base/text'
local unnamed = {}
local byte, find, sub = string.byte, string.find, string.sub
-- In the place of a name in a text. It is no longer than any name, so that no text grows beyond its limit.
local SIGN = '*'

-- Whether the character that begins at `at` is part of a word: a digit, or a letter of a script that has blanks between words. Signs are
-- not, nor what comes from U+2E80 on: Chinese, Japanese and Korean names have no blank before and after them.
local function is_in_word(given, at)
  if at < 1 or at > #given then return false end
  local c, second = byte(given, at, at + 1)
  if c < 128 then return c >= 48 and c <= 57 or c >= 65 and c <= 90 or c >= 97 and c <= 122 end
  return c >= 195 and c <= 225 or c == 226 and second >= 176 and second <= 183
end

-- Where the character before `at` begins; 0 for none.
local function before(given, at)
  at = at - 1
  while at > 1 and byte(given, at) >= 128 and byte(given, at) <= 191 do at = at - 1 end
  return at
end

-- Whether a backslash before `at` in a JSON text makes an escape of what is there.
local function is_escaped(given, at)
  local first = at
  while first > 1 and byte(given, first - 1) == 92 do first = first - 1 end
  return (at - first) % 2 == 1
end

-- Whether what stands before `at` in a JSON text ends with an escape, whose last byte is a letter or a digit, but of no word.
local function follows_escape(given, at)
  return at > 2 and find(given, '^[bfnrt]', at - 1) and is_escaped(given, at - 1)
    or at > 6 and find(given, '^u00[01]%x', at - 5) and is_escaped(given, at - 5)
end

-- Whether the name that stands from one place to another is a word of its own.
local function is_word(given, from, to, name, is_json)
  if is_json and is_escaped(given, from) then return false end
  local joins = is_in_word(given, before(given, from)) and is_in_word(name, 1)
  if joins and not (is_json and follows_escape(given, from)) then return false end
  return not (is_in_word(given, to + 1) and is_in_word(name, before(name, #name + 1)))
end

-- A text with the sign in the place of the name, where that is a word of its own. `is_json`: text and name are as JSON writes them.
function unnamed.text(given, name, is_json)
  local from, to = find(given, name, 1, true)
  if not from then return given end
  local kept, at = {}, 1
  while from do
    local is_own = is_word(given, from, to, name, is_json)
    kept[#kept + 1] = sub(given, at, is_own and from - 1 or from) .. (is_own and SIGN or '')
    at = is_own and to + 1 or from + 1
    from, to = find(given, name, at, true)
  end
  return table.concat(kept) .. sub(given, at)
end

-- A list of short texts without the name; nil for an empty one.
function unnamed.list(list, name)
  if not list or not text.has(list, name) then return list end
  local kept = {}
  for _, one in ipairs(text.names(list)) do
    if one ~= name then kept[#kept + 1] = text.short(one) end
  end
  return #kept > 0 and table.concat(kept) or nil
end

-- Where the string that begins at `at` in a JSON text ends.
local function end_of(given, at)
  local stop = at + 1
  while true do
    local found = find(given, '["\\]', stop)
    if not found or byte(given, found) == 34 then return found or #given end
    stop = found + 2
  end
end

-- A compact JSON text without the name: null in its place where a member of `roles` is 'name', and the sign where one is 'text'. It is read
-- up to the first member of which the role is 'end'. `name`: as JSON writes it, without quotes.
function unnamed.json(given, name, roles)
  if not find(given, name, 1, true) then return given end
  local kept, at, role = {}, 1, nil
  local from = find(given, '"', 1, true)
  while from and role ~= 'end' do
    local stop = end_of(given, from)
    local own, new = sub(given, from + 1, stop - 1), nil
    if byte(given, stop + 1) == 58 then
      role = roles[own]
    elseif role == 'name' and own == name then
      new = 'null'
    elseif role == 'text' then
      new = '"' .. unnamed.text(own, name, true) .. '"'
    end
    if new then kept[#kept + 1], at = sub(given, at, from - 1) .. new, stop + 1 end
    from = find(given, '"', stop + 1, true)
  end
  return table.concat(kept) .. sub(given, at)
end

return unnamed
