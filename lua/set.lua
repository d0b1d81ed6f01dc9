-- set: an operator changes the settings of a queue.
-- FLAGS  allow-oom
-- USES   event
-- KEYS   settings hash
-- ARGV   per setting 2: name, value ('' = back to the default)
-- REPLY  {'set'}
local was = redis.call('HGET', settings, 'paused') == '1'

for i = 1, #ARGV, 2 do
  if ARGV[i + 1] == '' then
    redis.call('HDEL', settings, ARGV[i])
  else
    redis.call('HSET', settings, ARGV[i], ARGV[i + 1])
  end
end

local is = redis.call('HGET', settings, 'paused') == '1'
if is ~= was then
  event(is and 'paused' or 'unpaused', string.rep('0', 26), '', '', '')
  write_events()
end
return {'set'}
