-- holders: the reservations by worker.   reads only
-- FLAGS  no-writes
-- KEYS   inbound zset · reserved zset · held zset · live hash
-- ARGV   worker ('' = everybody), member of `held` seen last ('' = from the start), limit
-- REPLY  {now ms, member seen last ('' = the end), {id, live record, deadline ms} …}
local clock = require 'base/clock'
local place = require 'jobs/place'

return function(q, args)
  local worker, after, limit = args[1], args[2], tonumber(args[3])
  local from, to = '-', '+'
  if worker ~= '' then from, to = '[' .. worker .. '\0', '(' .. worker .. '\1' end
  if after ~= '' then from = '(' .. after end

  local members, ids = redis.call('ZRANGEBYLEX', q.held, from, to, 'LIMIT', 0, limit), {}
  local reply = {clock.now(q), #members >= limit and members[#members] or ''}
  if #members == 0 then return reply end
  for i, member in ipairs(members) do ids[i] = place.id_of(member) end
  local lives, deadlines = redis.call('HMGET', q.live, unpack(ids)), redis.call('ZMSCORE', q.reserved, unpack(ids))
  for i, id in ipairs(ids) do
    if lives[i] and deadlines[i] then reply[#reply + 1] = {id, lives[i], tonumber(deadlines[i])} end
  end
  return reply
end
