-- history: what was counted in a queue, minute by minute or hour by hour, with what is not entered yet.   reads only
-- FLAGS  no-writes
-- KEYS   inbound zset · reserved zset · totals hash · history hash
-- ARGV   'm' for minutes, 'h' for hours
-- REPLY  {now ms, minute or hour where what is left begins (-1: nothing was dropped), first one of a field, its form, its bytes …}
local clock = require 'base/clock'
local ring = require 'base/ring'

return function(q, args)
  return {clock.now(q), unpack(ring.show(q, args[1]))}
end
