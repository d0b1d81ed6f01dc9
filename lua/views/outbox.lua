-- outbox: how each webhook stands in a queue.   reads only
-- FLAGS  no-writes
-- KEYS   cursors hash · deliveries zset
-- ARGV   -
-- REPLY  {now ms, {webhook, cursor, lost, waiting, failed, ms until the next is due (-1 = none), the oldest of those due first} …}
local clock = require 'base/clock'
local outbox = require 'base/outbox'
local delivery = require 'base/delivery'
local LOOK = '100'

-- Ids sort by the time of their event. Most deliveries are due in that order.
local function oldest(q, reader)
  local from, to = delivery.range(delivery.waiting, reader)
  local first = ''
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', q.deliveries, from, to, 'LIMIT', '0', LOOK)) do
    if first == '' or id < first then first = id end
  end
  return first
end

return function(q)
  local answer = {clock.now(q)}
  for _, reader in ipairs(outbox.webhooks(q)) do
    local waiting = delivery.count(q, delivery.waiting, reader)
    answer[#answer + 1] = {
      reader.name, reader.position, reader.lost, waiting, delivery.count(q, delivery.failed, reader),
      delivery.next_ms(q, reader), waiting > 0 and oldest(q, reader) or '',
    }
  end
  return answer
end
