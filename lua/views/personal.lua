-- personal: how many jobs wait that a worker may be offered: everybody's, and those in the lines of the worker and its skills. One that a
--           rule keeps from the worker is counted.   reads only
-- FLAGS  no-writes
-- KEYS   inbound zset · lines zset · settings hash
-- ARGV   worker ('' = one without a name), skills (none = '') as jobs/ask reads them
-- REPLY  {waiting, is paused 1|0}
local ask = require 'jobs/ask'
local line_set = require 'jobs/line_set'

return function(q, args)
  local waiting = redis.call('ZCARD', q.inbound)
  for _, line in ipairs(ask.lines(args[1], ask.skills(args[2]))) do waiting = waiting + line_set.count(q, line) end
  return {waiting, redis.call('HGET', q.settings, 'paused') == '1' and 1 or 0}
end
