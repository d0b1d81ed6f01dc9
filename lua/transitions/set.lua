-- set: an operator changes the settings of a queue.
-- FLAGS  allow-oom
-- KEYS   inbound zset · lines zset · settings hash · totals hash · events stream · cursors hash · sheets hash · hints channel
-- ARGV   name of the API key ('' = none), per setting 2: name, value ('' = back to the default)
-- REPLY  {'set'}
local event = require 'base/event'
local hint = require 'base/hint'
local commit = require 'base/commit'
local sheet = require 'base/sheet'
local line_set = require 'jobs/line_set'
local STRIDE = 2
local ANNOUNCED = 100

local function is_paused(q)
  return redis.call('HGET', q.settings, 'paused') == '1'
end

return function(q, args)
  local was = is_paused(q)
  event.set_actor(q, args[1])
  for i = 2, #args, STRIDE do
    if args[i + 1] == '' then
      redis.call('HDEL', q.settings, args[i])
    else
      redis.call('HSET', q.settings, args[i], args[i + 1])
    end
    if args[i] == 'sheets' then sheet.switch(q, args[i + 1] == '1') end
  end
  local is = is_paused(q)
  if is ~= was then
    event.add(q, is and 'paused' or 'unpaused', string.rep('0', $ID_LEN), '', {flags = 0, client = ''}, '')
    if was then
      hint.became_ready(q, redis.call('ZCARD', q.inbound))
      -- The callers of other lines try again within seconds.
      for _, one in ipairs(line_set.first_lines(q, ANNOUNCED)) do hint.line_ready(q, one[1], one[2]) end
    end
  end
  return commit(q, {'set'})
end
