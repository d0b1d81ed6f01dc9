-- seen: a queue is in use. The registry knows it before its first key is written.
-- FLAGS  allow-oom
-- KEYS   registry zset
-- ARGV   how many queues there may be (0 = however many), names
-- REPLY  {'seen'} | {'many'}: one would be new, and there are as many as may be
local clock = require 'base/clock'

return function(q, args)
  local most, new = tonumber(args[1]), 0
  for i = 2, #args do
    -- One that was vacated has a score below 0, and no place.
    local seen = most > 0 and redis.call('ZSCORE', q.registry, args[i])
    if most > 0 and not (seen and tonumber(seen) >= 0) then new = new + 1 end
  end
  if new > 0 and redis.call('ZCOUNT', q.registry, 0, '+inf') + new > most then return {'many'} end

  local told = {'ZADD', q.registry}
  for i = 2, #args do told[#told + 1], told[#told + 2] = clock.now(q), args[i] end
  redis.call(unpack(told))
  return {'seen'}
end
