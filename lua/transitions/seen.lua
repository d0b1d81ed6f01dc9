-- seen: registers queues that are in use, before their first key is written.
-- FLAGS  allow-oom
-- KEYS   registry zset
-- ARGV   limit of queues (0 = none), names
-- REPLY  {'new'}: one of them was not registered | {'seen'} | {'many'}: a new one would exceed the limit
local clock = require 'base/clock'

return function(q, args)
  local limit, new = tonumber(args[1]), 0
  for i = 2, #args do
    -- A vacated queue has a score below 0 and does not count.
    local seen = limit > 0 and redis.call('ZSCORE', q.registry, args[i])
    if limit > 0 and not (seen and tonumber(seen) >= 0) then new = new + 1 end
  end
  if new > 0 and redis.call('ZCOUNT', q.registry, 0, '+inf') + new > limit then return {'many'} end

  local command = {'ZADD', q.registry}
  for i = 2, #args do command[#command + 1], command[#command + 2] = clock.now(q), args[i] end
  return {redis.call(unpack(command)) > 0 and 'new' or 'seen'}
end
