-- record: enters the counts of a minute into the history of the queue when the minute is over.
-- FLAGS  allow-oom
-- KEYS   inbound zset · reserved zset · restricted zset · totals hash · history hash
-- ARGV   -
-- REPLY  {counts wait for the end of the minute (0 | 1), ms until the minute is over}
local clock = require 'base/clock'
local history = require 'base/history'
local MINUTE = clock.MINUTE

return function(q)
  local waits = history.enter(q)
  return {waits and 1 or 0, MINUTE - clock.now(q) % MINUTE}
end
