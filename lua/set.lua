-- set: an operator changes the settings of a queue.
-- FLAGS  allow-oom
-- USES   event total hint
-- KEYS   inbound zset · settings hash
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
  event(is and 'paused' or 'unpaused', string.rep('0', 26), '', {flags = 0, client = ''}, '')
  write_events()
  if was then became_ready(redis.call('ZCARD', inbound)) end
  write_hint()
end
return counted({'set'})
