-- outbox: how the webhooks stand in a queue, some at a time.   reads only
-- FLAGS  no-writes
-- KEYS   cursors hash · deliveries zset
-- ARGV   slot of a webhook after which to continue (-1 = from the first)
-- REPLY  {now ms, slot after which to continue (-1 = these are all), {webhook, cursor, lost, waiting, failed, ms until the next is due (-1 = none), whether some
-- REPLY  failed too long ago to be kept, or too many did (0 | 1), the oldest of those due first} …}
local clock = require 'base/clock'
local outbox = require 'base/outbox'
local delivery = require 'base/delivery'
local LOOK, MAX = '100', 20

-- Ids sort by the time of their event. Most deliveries are due in that order.
local function oldest(q, reader)
  local from, to = delivery.range(delivery.waiting, reader)
  local first = ''
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', q.deliveries, from, to, 'LIMIT', '0', LOOK)) do
    if first == '' or id < first then first = id end
  end
  return first
end

local function has_old(q, reader, failed)
  if failed == 0 or failed > delivery.MAX then return failed > 0 and 1 or 0 end
  return redis.call('ZCOUNT', q.deliveries, delivery.old(q, reader)) > 0 and 1 or 0
end

local function by_slot(one, other)
  return one.slot < other.slot
end

-- The next webhooks by slot.
local function next_ones(q, after)
  local webhooks = {}
  for _, reader in ipairs(outbox.webhooks(q)) do
    if reader.slot > after then webhooks[#webhooks + 1] = reader end
  end
  table.sort(webhooks, by_slot)
  return webhooks
end

return function(q, args)
  local webhooks = next_ones(q, tonumber(args[1]))
  local answer = {clock.now(q), #webhooks > MAX and webhooks[MAX].slot or -1}
  for i = 1, math.min(#webhooks, MAX) do
    local reader = webhooks[i]
    local waiting, failed = delivery.count(q, delivery.waiting, reader), delivery.count(q, delivery.failed, reader)
    answer[#answer + 1] = {
      reader.name, reader.position, reader.lost, waiting, failed, delivery.next_ms(q, reader), has_old(q, reader, failed),
      waiting > 0 and oldest(q, reader) or '',
    }
  end
  return answer
end
