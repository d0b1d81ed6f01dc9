-- outbox: how far each reader has got in the events of a queue: each webhook, and the tally of the day sheets.
local text = require 'base/text'
local outbox = {}
local call, find = redis.call, string.find

-- Fields of `cursors`: a reader is a word and a name. There is one tally, without a name.
outbox.TALLY = 't:'
local function field(webhook)
  return 'w:' .. webhook
end

-- `position` is that of an event, as the service reads it. The slot of the tally is a version, which each change of the sheets moves on.
local function parse(at, raw)
  local _, _, position, slot, lost = find(raw, '^(%S+) (%d+) (%d+)')
  return {field = at, name = at:sub(3), position = position, slot = tonumber(slot), lost = tonumber(lost)}
end

-- Nil for a webhook that has read nothing here.
function outbox.of(q, webhook)
  local raw = call('HGET', q.cursors, field(webhook))
  return raw and parse(field(webhook), raw)
end

-- A webhook that begins to read here.
function outbox.new(q, webhook)
  return {field = field(webhook), slot = outbox.free_slot(q), lost = 0}
end

function outbox.write(q, reader)
  call('HSET', q.cursors, reader.field, text.words(reader.position, text.of(reader.slot), text.of(reader.lost)))
end

function outbox.forget(q, webhook)
  call('HDEL', q.cursors, field(webhook))
end

-- All that read here.
function outbox.readers(q)
  local readers, entries = {}, call('HGETALL', q.cursors)
  for i = 1, #entries, 2 do readers[#readers + 1] = parse(entries[i], entries[i + 1]) end
  return readers
end

-- All webhooks that have read here, by name.
function outbox.webhooks(q)
  local webhooks = {}
  for _, reader in ipairs(outbox.readers(q)) do
    if reader.field ~= outbox.TALLY then webhooks[#webhooks + 1] = reader end
  end
  return webhooks
end

-- The lowest slot that is free.
function outbox.free_slot(q)
  local taken, slot = {}, 0
  for _, reader in ipairs(outbox.webhooks(q)) do taken[reader.slot] = true end
  while taken[slot] do slot = slot + 1 end
  return slot
end

-- Whether the first position, of an event or an entry, is before the second.
function outbox.is_behind(one, other)
  local ms, sequence = one:match('^(%d+)%-(%d+)')
  local other_ms, other_sequence = other:match('^(%d+)%-(%d+)')
  if ms ~= other_ms then return tonumber(ms) < tonumber(other_ms) end
  return tonumber(sequence) < tonumber(other_sequence)
end

return outbox
