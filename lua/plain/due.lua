-- due: the fast path. Most queues have nothing that time changes.
local call = redis.call

return function(q)
  if call('EXISTS', q.reserved, q.delayed, q.ended, q.timers, q.alarms) == 0 then return {-1} end
end
