-- webhooks: an instance names the webhooks that it serves. Those that none has named for a day are forgotten.
-- FLAGS  allow-oom
-- KEYS   webhooks hash
-- ARGV   names
-- REPLY  {{name, since ms, when it was stopped (0 = it was not), what became of its last attempt} …}
local clock = require 'base/clock'
local text = require 'base/text'
local DAY = 86400000
-- A mark that is younger is not written again.
local RENEWED_MS = 30000

-- Three fields each: since when it is known and when it was last named; `gone`; `last`.
return function(q, args)
  local fields, kept, now = {}, redis.call('HGETALL', q.webhooks), clock.now(q)
  for i = 1, #kept, 2 do fields[kept[i]] = kept[i + 1] end
  -- Before any is forgotten, so that a jump of the clock forgets none that is named.
  for _, name in ipairs(args) do
    local since, named = (fields[name] or ''):match('^(%d+) (%d+)')
    if not named or math.abs(now - named) > RENEWED_MS then
      fields[name] = text.words(since or text.of(now), text.of(now))
      redis.call('HSET', q.webhooks, name, fields[name])
    end
  end
  local known = {}
  for name, times in pairs(fields) do
    local since, named = times:match('^(%d+) (%d+)')
    local is_name = not name:find(' ', 1, true)
    if is_name and now - named > DAY then
      redis.call('HDEL', q.webhooks, name, name .. ' gone', name .. ' last')
    elseif is_name then
      known[#known + 1] = {name, since, fields[name .. ' gone'] or '0', fields[name .. ' last'] or ''}
    end
  end
  return known
end
