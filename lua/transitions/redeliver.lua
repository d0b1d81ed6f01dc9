-- redeliver: failed deliveries are due now, with all their attempts again; or one delivery, failed or not.
-- FLAGS  allow-oom
-- KEYS   cursors hash · deliveries zset · bodies hash · actions hash
-- ARGV   webhook, delivery ('' = all that failed), limit, note for the list of actions
-- REPLY  {how many, there may be more (0 | 1)}
local action = require 'base/action'
local clock = require 'base/clock'
local text = require 'base/text'
local outbox = require 'base/outbox'
local delivery = require 'base/delivery'

local function chosen(q, reader, id, limit)
  local from, to = delivery.range(delivery.failed, reader)
  if id == '' then return redis.call('ZRANGEBYSCORE', q.deliveries, from, to, 'LIMIT', '0', limit) end
  local score = tonumber(redis.call('ZSCORE', q.deliveries, id) or -1)
  local first = delivery.range(delivery.waiting, reader)
  return score >= tonumber(first) and score <= tonumber(to) and {id} or {}
end

return function(q, args)
  local reader = outbox.of(q, args[1])
  local ids = reader and chosen(q, reader, args[2], args[3]) or {}
  if #ids == 0 then return {0, 0} end
  local due, heads = {}, {}
  for i, head in ipairs(redis.call('HMGET', q.bodies, unpack(ids))) do
    due[#due + 1], due[#due + 2] = text.of(delivery.waiting(reader, clock.now(q))), ids[i]
    heads[#heads + 1], heads[#heads + 2] = ids[i], ((head or ''):gsub('^%d+', '0', 1))
  end
  redis.call('ZADD', q.deliveries, unpack(due))
  redis.call('HSET', q.bodies, unpack(heads))
  action.add(q, args[4], #ids)
  return {#ids, #ids >= tonumber(args[3]) and 1 or 0}
end
