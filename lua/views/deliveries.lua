-- deliveries: a page of a webhook's deliveries, by when they are next tried or when they failed.   reads only
-- FLAGS  no-writes
-- KEYS   cursors hash · deliveries zset · bodies hash
-- ARGV   webhook, 'waiting' | 'failed', limit, score and id of the delivery seen last ('' = from the start)
-- REPLY  {score ('' = the end), {id, ms, head} …}
local outbox = require 'base/outbox'
local delivery = require 'base/delivery'
local page = require 'jobs/page'

return function(q, args)
  local reader, limit = outbox.of(q, args[1]), tonumber(args[3])
  if not reader then return {''} end
  local from, to = delivery.range(delivery[args[2]], reader)
  local rank = redis.call('ZCOUNT', q.deliveries, '-inf', '(' .. from)
  if args[4] ~= '' then rank = math.max(rank, page.rank_after(q.deliveries, args[4], args[5])) end
  local last = redis.call('ZCOUNT', q.deliveries, '-inf', to) - 1
  local found = redis.call('ZRANGE', q.deliveries, rank, math.min(rank + limit - 1, last), 'WITHSCORES')
  if #found == 0 or rank > last then return {''} end
  local ids, shown = {}, {rank + limit <= last and found[#found] or ''}
  for i = 1, #found, 2 do ids[#ids + 1] = found[i] end
  for i, head in ipairs(redis.call('HMGET', q.bodies, unpack(ids))) do
    shown[#shown + 1] = {ids[i], delivery.ms_of(found[i * 2]), head or ''}
  end
  return shown
end
