-- hint: tells those who wait that jobs became ready, and those who watch that something happened. State is the truth; a
-- hint only wakes, so one too many or one that is lost does no harm. Redis may forbid us the channel: those who wait have
-- their safety tick, and what the call has written stands.
local text = require 'base/text'
local hint = {}

function hint.became_ready(q, n)
  q.ready = q.ready + n
end

function hint.publish(q, ready)
  redis.pcall('PUBLISH', q.hints, text.of(ready))
end

return hint
