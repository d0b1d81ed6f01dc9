-- record: what was counted goes into the history of the queue, when a minute is over.
-- FLAGS  allow-oom
-- KEYS   inbound zset · reserved zset · totals hash · history hash
-- ARGV   -
-- REPLY  {something was counted that waits for the end of the minute (0 | 1), ms until the minute is over}
local clock = require 'base/clock'
local ring = require 'base/ring'
local MINUTE = 60000

return function(q)
  local waits = ring.enter(q)
  return {waits and 1 or 0, MINUTE - clock.now(q) % MINUTE}
end
