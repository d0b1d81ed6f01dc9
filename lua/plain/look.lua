-- look: the fast path. The queue has no job to reserve, now or later.
local clock = require 'base/clock'
local call = redis.call

return function(q, args)
  if call('EXISTS', q.inbound, q.parked, q.delayed, q.reserved, q.restricted) > 0 then return end
  local paused, asked = call('HGET', q.settings, 'paused') == '1', {}
  for i = 4, #args do asked[i - 3] = 0 end
  return {clock.read(), 0, 0, 0, {}, {0, 0, 0, 0, paused and 1 or 0, -1, 0}, asked}
end
