-- due: where nothing is unusual. Time brings nothing about in most queues.
local call = redis.call

return function(q)
  if call('EXISTS', q.reserved, q.delayed, q.ended, q.timers) == 0 then return {-1} end
end
