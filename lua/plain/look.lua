-- look: the fast path. The queue has no job to reserve, now or later.
local clock = require 'base/clock'
local call = redis.call

return function(q)
  if call('EXISTS', q.inbound, q.parked, q.delayed, q.reserved) > 0 then return end
  local paused = call('HGET', q.settings, 'paused') == '1'
  return {clock.read(), 0, 0, 0, {}, {0, 0, 0, 0, paused and 1 or 0, -1}}
end
