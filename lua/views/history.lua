-- history: the counts of a queue by minute or hour, with those not entered yet.   reads only
-- FLAGS  no-writes
-- KEYS   inbound zset · reserved zset · restricted zset · totals hash · history hash
-- ARGV   'm' for minutes, 'h' for hours
-- REPLY  {now ms, minute or hour where what is left begins (-1: nothing was dropped), first one of a field, its entries …}
local clock = require 'base/clock'
local history = require 'base/history'

return function(q, args)
  return {clock.now(q), unpack(history.show(q, args[1]))}
end
