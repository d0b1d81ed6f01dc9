-- erasing: whether the name of a worker is being taken out of a queue by a call of the same caller that is not done.   reads only
-- FLAGS  no-writes
-- KEYS   erasures hash
-- ARGV   worker, whose call: the queues that the caller may see
-- REPLY  {it is (0 | 1)}
local erasures = require 'base/erasures'

return function(q, args)
  local own = erasures.parse(redis.call('HGET', q.erasures, args[1]))
  local is_open = own and own.by == args[2] and not erasures.is_left_to_expunge(own)
  return {is_open and not erasures.is_given_up(q, own) and 1 or 0}
end
