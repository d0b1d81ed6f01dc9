-- webhooks: an instance names the webhooks that it serves, and their queues. What none has named for a day is no longer known.
-- FLAGS  allow-oom
-- KEYS   webhooks hash
-- ARGV   'forget' | '' (keep what is no longer known); per webhook 2: name, pattern of its queues
-- REPLY  {{name, since ms, when it was stopped (0 = it was not), what became of its last attempt, pattern …} …}
local clock = require 'base/clock'
local text = require 'base/text'
local DAY = clock.DAY
local FIRST, STRIDE = 2, 2
-- A mark that is younger is not written again.
local RENEWED_MS = 30000
-- Instances of an earlier version name no pattern: until a day after the first that does, all queues are theirs.
local ALL = '*'

-- The field of a pattern says when it was last named.
local function field(name, pattern)
  return name .. ' p ' .. pattern
end

local function set(q, fields, at, value)
  fields[at] = value
  redis.call('HSET', q.webhooks, at, value)
end

-- Marks a webhook and its pattern as named now.
local function mark(q, fields, with_patterns, name, pattern)
  local now = clock.now(q)
  local since, named = (fields[name] or ''):match('^(%d+) (%d+)')
  if not named or math.abs(now - named) > RENEWED_MS then set(q, fields, name, text.words(since or text.of(now), text.of(now))) end
  if named and not with_patterns[name] then set(q, fields, field(name, ALL), text.of(now)) end
  local at = field(name, pattern)
  if not fields[at] or math.abs(now - fields[at]) > RENEWED_MS then set(q, fields, at, text.of(now)) end
end

-- The patterns of each webhook. `gone`: the fields of those that are no longer known are added here.
local function patterns_of(q, fields, gone)
  local patterns = {}
  for at, named in pairs(fields) do
    local name, pattern = at:match('^(%S+) p (%S+)')
    if name then
      local own = patterns[name] or {}
      patterns[name] = own
      if clock.now(q) - named > DAY then
        gone[#gone + 1] = at
      else
        own[#own + 1] = pattern
      end
    end
  end
  return patterns
end

-- Fields of a webhook: since when it is known and when it was last named; `gone`; `last`; and those of its patterns.
return function(q, args)
  local fields, kept = {}, redis.call('HGETALL', q.webhooks)
  for i = 1, #kept, 2 do fields[kept[i]] = kept[i + 1] end
  local with_patterns = patterns_of(q, fields, {})
  -- Before any is forgotten, so that a jump of the clock forgets none that is named.
  for i = FIRST, #args, STRIDE do mark(q, fields, with_patterns, args[i], args[i + 1]) end
  local known, gone = {}, {}
  local patterns = patterns_of(q, fields, gone)
  for name, times in pairs(fields) do
    local since, named = times:match('^(%d+) (%d+)')
    local is_name = not name:find(' ', 1, true)
    if is_name and clock.now(q) - named > DAY then
      gone[#gone + 1], gone[#gone + 2], gone[#gone + 3] = name, name .. ' gone', name .. ' last'
    elseif is_name then
      known[#known + 1] = {name, since, fields[name .. ' gone'] or '0', fields[name .. ' last'] or '', unpack(patterns[name] or {})}
    end
  end
  if args[1] == 'forget' and #gone > 0 then redis.call('HDEL', q.webhooks, unpack(gone)) end
  return known
end
