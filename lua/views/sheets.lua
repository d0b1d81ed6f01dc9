-- sheets: how a queue keeps its day sheets, and some of their fields.   reads only
-- FLAGS  no-writes
-- KEYS   settings hash · cursors hash · sheets hash
-- ARGV   fields
-- REPLY  {now ms, record of the cursor ('' = no sheets are kept), for how many days ('' = the default), time zone ('' = the default),
-- REPLY  the values ('' = none) …}
local clock = require 'base/clock'
local outbox = require 'base/outbox'
local call = redis.call

return function(q, args)
  local chosen = call('HMGET', q.settings, 'sheets_days', 'time_zone')
  local reply = {clock.now(q), call('HGET', q.cursors, outbox.TALLY) or '', chosen[1] or '', chosen[2] or ''}
  if #args == 0 then return reply end
  for i, value in ipairs(call('HMGET', q.sheets, unpack(args))) do reply[i + 4] = value or '' end
  return reply
end
