-- discard: removes what a webhook has here that no instance has named for a day, a part at a time.
-- FLAGS  allow-oom
-- KEYS   cursors hash · deliveries zset · bodies hash
-- ARGV   webhook, limit
-- REPLY  {there is more (0 | 1)}
local outbox = require 'base/outbox'
local bodies = require 'base/bodies'
local delivery = require 'base/delivery'

return function(q, args)
  local reader = outbox.of(q, args[1])
  if not reader then return {0} end
  local from = delivery.range(delivery.waiting, reader)
  local _, to = delivery.range(delivery.failed, reader)
  local ids = redis.call('ZRANGEBYSCORE', q.deliveries, from, to, 'LIMIT', '0', args[2])
  bodies.remove(q, ids)
  if #ids >= tonumber(args[2]) then return {1} end
  outbox.forget(q, args[1])
  return {0}
end
