-- webhooks: an instance names the webhooks that it serves. Those that none has named for a day are forgotten.
-- FLAGS  allow-oom
-- KEYS   webhooks hash
-- ARGV   names
-- REPLY  {{name, since ms, when it was stopped (0 = it was not), what became of its last attempt} …}
local clock = require 'base/clock'
local text = require 'base/text'
local DAY = 86400000

-- Three fields each: since when it is known and when it was last named; `gone`; `last`.
return function(q, args)
  local fields, kept, now = {}, redis.call('HGETALL', q.webhooks), clock.now(q)
  for i = 1, #kept, 2 do fields[kept[i]] = kept[i + 1] end
  for _, name in ipairs(args) do
    local since = fields[name] and fields[name]:match('^%d+') or text.of(now)
    fields[name] = text.words(since, text.of(now))
    redis.call('HSET', q.webhooks, name, fields[name])
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
