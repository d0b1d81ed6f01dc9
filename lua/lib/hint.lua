-- hint: tells those who wait that jobs became ready, and those who watch that something happened. State is the truth; a
-- KEYS   hints channel
-- hint only wakes, so one too many or one that is lost does no harm.
local ready = 0

local function became_ready(n)
  ready = ready + n
end

local function write_hint()
  redis.call('PUBLISH', hints, ready)
end
