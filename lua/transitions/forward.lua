-- forward: makes deliveries of the events that a webhook is for, and moves its cursor past them. It writes nothing if another
--          instance has moved the cursor meanwhile, so that each event becomes one delivery. Refused at `maxmemory`: the events
--          wait in the stream.
-- KEYS   events stream · cursors hash · deliveries zset · bodies hash
-- ARGV   webhook, its cursor as it was read ('' = none), its new cursor; per delivery 3: id, head, body
-- REPLY  {'forwarded'} | {'moved', cursor}: or there are no events to begin with | {'full'}: too many wait already
local clock = require 'base/clock'
local text = require 'base/text'
local outbox = require 'base/outbox'
local bodies = require 'base/bodies'
local delivery = require 'base/delivery'
local FIRST, STRIDE = 4, 3

return function(q, args)
  local reader = outbox.of(q, args[1])
  if args[2] ~= (reader and reader.position or '') then return {'moved', reader and reader.position or ''} end
  -- A queue that was forgotten meanwhile stays so.
  if not reader and redis.call('EXISTS', q.events) == 0 then return {'moved', ''} end
  reader = reader or outbox.new(q, args[1])
  if #args >= FIRST and delivery.count(q, delivery.waiting, reader) >= delivery.MAX then return {'full'} end

  local now, due, kept = clock.now(q), {}, {}
  for i = FIRST, #args, STRIDE do
    due[#due + 1], due[#due + 2] = text.of(delivery.waiting(reader, now)), args[i]
    local n = #kept
    kept[n + 1], kept[n + 2], kept[n + 3], kept[n + 4] = args[i], args[i + 1], bodies.field(args[i]), args[i + 2]
  end
  if #due > 0 then
    redis.call('HSET', q.bodies, unpack(kept))
    redis.call('ZADD', q.deliveries, unpack(due))
  end
  reader.position = args[3]
  outbox.write(q, reader)
  return {'forwarded'}
end
