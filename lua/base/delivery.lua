-- delivery: the scores of deliveries, by which they are found.
local clock = require 'base/clock'
local text = require 'base/text'
local delivery = {MAX = $WAITING_DELIVERIES}
local call = redis.call

-- A score is a zone and a time in ms. Each webhook has two zones, so that one with much to do does not slow another: an even one
-- for deliveries that wait, by when they are next tried, and an odd one for those that failed for good, by when they failed.
local ZONE, FAILED = 4398046511104, 1 -- 2 ^ 42 ms end in the year 2109
local KEPT_MS = 604800000

function delivery.waiting(reader, ms)
  return reader.slot * 2 * ZONE + ms
end

function delivery.failed(reader, ms)
  return (reader.slot * 2 + FAILED) * ZONE + ms
end

-- The scores of a zone, for commands; up to a time if it is given.
function delivery.range(score, reader, until_ms)
  return text.of(score(reader, 0)), text.of(score(reader, until_ms or ZONE - 1))
end

-- The scores of those that failed too long ago to be kept.
function delivery.old(q, reader)
  return delivery.range(delivery.failed, reader, clock.now(q) - KEPT_MS)
end

function delivery.ms_of(score)
  return tonumber(score) % ZONE
end

function delivery.count(q, score, reader)
  return call('ZCOUNT', q.deliveries, delivery.range(score, reader))
end

-- Ms until the next delivery is tried: 0 for now, -1 for none.
function delivery.next_ms(q, reader)
  local from, to = delivery.range(delivery.waiting, reader)
  local first = call('ZRANGEBYSCORE', q.deliveries, from, to, 'WITHSCORES', 'LIMIT', '0', '1')[2]
  return first and math.max(delivery.ms_of(first) - clock.now(q), 0) or -1
end

return delivery
