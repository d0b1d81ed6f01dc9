-- erasing: whether the name of a worker is being taken out of a queue by a call that is not done.   reads only
-- FLAGS  no-writes
-- KEYS   erasures hash
-- ARGV   worker
-- REPLY  {it is (0 | 1)}
local clock = require 'base/clock'
local erasures = require 'base/erasures'

return function(q, args)
  local own = erasures.parse(redis.call('HGET', q.erasures, args[1]))
  local is_done = not own or own.stage == erasures.EVENTS or own.stage == erasures.BODIES
  return {not is_done and clock.now(q) - own.at < erasures.MAX_WAIT_MS and 1 or 0}
end
