-- outbox: how far each webhook has read the events of a queue.
local text = require 'base/text'
local outbox = {}
local call, find = redis.call, string.find

-- Fields of `cursors`: a reader is a word and a name.
local function field(webhook)
  return 'w:' .. webhook
end

-- `position` is that of an event, as the service reads it.
local function parse(raw)
  local _, _, position, slot, lost = find(raw, '^(%S+) (%d+) (%d+)')
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

-- Is the first position, of an event or an entry, behind the second?
function outbox.is_behind(one, other)
  local ms, sequence = one:match('^(%d+)%-(%d+)')
  local other_ms, other_sequence = other:match('^(%d+)%-(%d+)')
  if ms ~= other_ms then return tonumber(ms) < tonumber(other_ms) end
  return tonumber(sequence) < tonumber(other_sequence)
end

return outbox
