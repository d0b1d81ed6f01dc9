-- clock: the time of Redis, read once per call.
local clock = {}
local call, floor, tonumber = redis.call, math.floor, tonumber

-- In ms; the same for all of a call.
function clock.now(q)
  local now = q.now
  if not now then
    local time = call('TIME')
    local us = tonumber(time[2])
    now = time[1] * 1000 + (us - us % 1000) / 1000
    q.now = now
  end
  return now
end

clock.MINUTE, clock.DAY = 60000, 86400000 -- ms

-- Stamps of the queue's own clock per ms.
clock.PER_MS = $STAMPS_PER_MS
function clock.ms_of(stamp)
  return floor(stamp / clock.PER_MS)
end

return clock
