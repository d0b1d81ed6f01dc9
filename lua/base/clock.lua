-- clock: Redis tells the time, once a call.
local clock = {}
local call, floor = redis.call, math.floor

-- In ms.
function clock.now(q)
  local now = q.now
  if not now then
    local time = call('TIME')
    now = time[1] * 1000 + floor(time[2] / 1000)
    q.now = now
  end
  return now
end

-- A stamp of a queue's own clock, which has so many to a ms, in ms.
clock.PER_MS = 64
function clock.ms_of(stamp)
  return floor(stamp / clock.PER_MS)
end

return clock
