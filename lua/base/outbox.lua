-- outbox: how far each webhook has read the events of a queue, and the scores of its deliveries.
local clock = require 'base/clock'
local text = require 'base/text'
local outbox = {MOST = $WAITING_DELIVERIES}
local call, find = redis.call, string.find

-- A score is a zone and a time in ms. Each webhook has two zones, so that one with much to do does not slow another: an even one
-- for deliveries that wait, by when they are next tried, and an odd one for those that failed for good, by when they failed.
local ZONE, FAILED = 4398046511104, 1 -- 2^42 ms end in the year 2109

-- Fields of `cursors`: a reader is a word and a name.
local function field(webhook)
  return 'w:' .. webhook
end

-- `position` is that of an event, as the service reads it.
local function parse(raw)
  local _, _, position, slot, lost = find(raw, '^(%S+) (%d+) (%d+)$')
  return {position = position, slot = tonumber(slot), lost = tonumber(lost)}
end

-- Nil for a webhook that has read nothing here.
function outbox.of(q, webhook)
  local raw = call('HGET', q.cursors, field(webhook))
  return raw and parse(raw)
end

function outbox.write(q, webhook, reader)
  call('HSET', q.cursors, field(webhook), text.words(reader.position, text.of(reader.slot), text.of(reader.lost)))
end

function outbox.forget(q, webhook)
  call('HDEL', q.cursors, field(webhook))
end

-- All webhooks that have read here, by name.
function outbox.all(q)
  local readers, entries = {}, call('HGETALL', q.cursors)
  for i = 1, #entries, 2 do
    local reader = parse(entries[i + 1])
    reader.name = entries[i]:sub(3)
    readers[#readers + 1] = reader
  end
  return readers
end

-- The lowest slot that is free.
function outbox.free_slot(q)
  local taken, slot = {}, 0
  for _, reader in ipairs(outbox.all(q)) do taken[reader.slot] = true end
  while taken[slot] do slot = slot + 1 end
  return slot
end

function outbox.waiting(reader, ms)
  return reader.slot * 2 * ZONE + ms
end

function outbox.failed(reader, ms)
  return (reader.slot * 2 + FAILED) * ZONE + ms
end

-- The scores of a zone, for commands; up to a time if it is given.
function outbox.range(score, reader, until_ms)
  return text.of(score(reader, 0)), text.of(score(reader, until_ms or ZONE - 1))
end

function outbox.ms_of(score)
  return tonumber(score) % ZONE
end

function outbox.count(q, score, reader)
  return call('ZCOUNT', q.deliveries, outbox.range(score, reader))
end

-- Ms until the next delivery is tried: 0 for now, -1 for none.
function outbox.next_ms(q, reader)
  local from, to = outbox.range(outbox.waiting, reader)
  local first = call('ZRANGEBYSCORE', q.deliveries, from, to, 'WITHSCORES', 'LIMIT', '0', '1')[2]
  return first and math.max(outbox.ms_of(first) - clock.now(q), 0) or -1
end

-- The field of a delivery's body. The other, by its id alone, says what became of it: that one changes, the body never.
function outbox.body(id)
  return id .. 'b'
end

-- Removes deliveries with what is kept of them.
function outbox.remove(q, ids)
  if #ids == 0 then return end
  local fields = {}
  for _, id in ipairs(ids) do fields[#fields + 1], fields[#fields + 2] = id, outbox.body(id) end
  call('ZREM', q.deliveries, unpack(ids))
  call('HDEL', q.bodies, unpack(fields))
end

-- Is the first position, of an event or an entry, behind the second?
function outbox.is_behind(one, other)
  local ms, sequence = one:match('^(%d+)%-(%d+)')
  local other_ms, other_sequence = other:match('^(%d+)%-(%d+)')
  if ms ~= other_ms then return tonumber(ms) < tonumber(other_ms) end
  return tonumber(sequence) < tonumber(other_sequence)
end

return outbox
