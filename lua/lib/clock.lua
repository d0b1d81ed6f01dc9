-- clock: Redis tells the time, once a script.
local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local now = clock()

-- A stamp of a queue's own clock, which has 64 to a ms, in ms.
local PER_MS = 64
local function ms_of(stamp)
  return math.floor(stamp / PER_MS)
end
