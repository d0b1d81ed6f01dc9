-- hint: tells those who wait that jobs became ready, and those who watch that something happened. State is the truth;
-- a hint only wakes, so one too many or one that is lost does no harm. Redis may forbid us the channel: those who wait
-- have their safety tick, and what the script has written stands.
-- KEYS   hints channel
local ready = 0

local function became_ready(n)
  ready = ready + n
end

local function write_hint()
  redis.pcall('PUBLISH', hints, ready)
end
