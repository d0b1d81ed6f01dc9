-- collect: takes deliveries that are due, and puts them off so that no other instance sends them meanwhile; one that was never
--          reported back is due again after that. It also removes deliveries that failed long ago.
-- FLAGS  allow-oom
-- KEYS   cursors hash · deliveries zset · bodies hash
-- ARGV   webhook, limit, how many that are due are passed over, ms to put off
-- REPLY  {ms until the next is due (-1 = none), {id, due ms, head, body} …}
local clock = require 'base/clock'
local text = require 'base/text'
local outbox = require 'base/outbox'
local bodies = require 'base/bodies'
local delivery = require 'base/delivery'
local REMOVED = 50

local function tidy(q, reader)
  local from, old = delivery.old(q, reader)
  local gone = redis.call('ZRANGEBYSCORE', q.deliveries, from, old, 'LIMIT', '0', text.of(REMOVED))
  local surplus = math.min(delivery.count(q, delivery.failed, reader) - #gone - delivery.MAX, REMOVED)
  if #gone == 0 and surplus > 0 then
    local _, newest = delivery.range(delivery.failed, reader)
    gone = redis.call('ZRANGEBYSCORE', q.deliveries, from, newest, 'LIMIT', '0', text.of(surplus))
  end
  bodies.remove(q, gone)
end

return function(q, args)
  local reader = outbox.of(q, args[1])
  if not reader then return {-1} end
  tidy(q, reader)
  local from, to = delivery.range(delivery.waiting, reader, clock.now(q))
  local due = redis.call('ZRANGEBYSCORE', q.deliveries, from, to, 'WITHSCORES', 'LIMIT', args[3], args[2])
  local fields, later, taken = {}, {}, {-1}
  for i = 1, #due, 2 do
    fields[i], fields[i + 1] = due[i], bodies.field(due[i])
    later[i], later[i + 1] = text.of(delivery.waiting(reader, clock.now(q) + args[4])), due[i]
  end
  if #due > 0 then
    local kept = redis.call('HMGET', q.bodies, unpack(fields))
    for i = 1, #due, 2 do
      taken[#taken + 1] = {due[i], text.of(delivery.ms_of(due[i + 1])), kept[i] or '', kept[i + 1] or ''}
    end
    redis.call('ZADD', q.deliveries, unpack(later))
  end
  taken[1] = delivery.next_ms(q, reader)
  return taken
end
