-- hint: wakes waiting reserves and event streams by a PUBLISH. Waiters look at the state again, so a lost or extra hint does no
-- harm. An ACL may forbid the channel: waiters then rely on their safety tick, and the writes of the call stand.
local text = require 'base/text'
local hint = {}

function hint.became_ready(q, n)
  q.ready = q.ready + n
end

function hint.publish(q, ready)
  redis.pcall('PUBLISH', q.hints, text.of(ready))
end

return hint
