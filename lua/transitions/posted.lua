-- posted: what became of deliveries that were sent. One that another instance has reported meanwhile stays as that says.
-- FLAGS  allow-oom
-- KEYS   cursors hash · deliveries zset · bodies hash
-- ARGV   webhook; per delivery 4: id, 'taken' | 'again' | 'back' | 'failed', ms (again: from now; back: when it was due), new head
-- REPLY  {now ms, ms until the next is due (-1 = none)}
local clock = require 'base/clock'
local text = require 'base/text'
local outbox = require 'base/outbox'
local bodies = require 'base/bodies'
local delivery = require 'base/delivery'
local FIRST, STRIDE = 2, 4

local function score(q, reader, how, ms)
  if how == 'failed' then return delivery.failed(reader, clock.now(q)) end
  return delivery.waiting(reader, how == 'again' and clock.now(q) + ms or tonumber(ms))
end

return function(q, args)
  local reader = outbox.of(q, args[1])
  if not reader then return {clock.now(q), -1} end
  local ids, scores, heads, gone = {}, {}, {}, {}
  for i = FIRST, #args, STRIDE do ids[#ids + 1] = args[i] end
  local found = redis.call('ZMSCORE', q.deliveries, unpack(ids))
  local _, last = delivery.range(delivery.waiting, reader)
  for n, id in ipairs(ids) do
    local i = FIRST + (n - 1) * STRIDE
    local waits = found[n] and tonumber(found[n]) <= tonumber(last)
    if waits and args[i + 1] == 'taken' then
      gone[#gone + 1] = id
    elseif waits then
      scores[#scores + 1], scores[#scores + 2] = text.of(score(q, reader, args[i + 1], args[i + 2])), id
      heads[#heads + 1], heads[#heads + 2] = id, args[i + 3]
    end
  end
  if #scores > 0 then
    redis.call('HSET', q.bodies, unpack(heads))
    redis.call('ZADD', q.deliveries, unpack(scores))
  end
  bodies.remove(q, gone)
  return {clock.now(q), delivery.next_ms(q, reader)}
end
