-- deadlines: the reservations, earliest deadline first.   reads only
-- FLAGS  no-writes
-- KEYS   reserved zset · live hash
-- ARGV   limit, deadline ms and id after which it continues ('' = from the start)
-- REPLY  {now ms, {id, live record, deadline ms} …}
local clock = require 'base/clock'
local page = require 'jobs/page'

return function(q, args)
  local from, ids, reply = page.rank_after(q.reserved, args[2], args[3]), {}, {clock.now(q)}
  local entries = redis.call('ZRANGE', q.reserved, from, from + tonumber(args[1]) - 1, 'WITHSCORES')
  if #entries == 0 then return reply end
  for i = 1, #entries, 2 do ids[#ids + 1] = entries[i] end
  for i, live in ipairs(redis.call('HMGET', q.live, unpack(ids))) do
    if live then reply[#reply + 1] = {ids[i], live, tonumber(entries[i * 2])} end
  end
  return reply
end
