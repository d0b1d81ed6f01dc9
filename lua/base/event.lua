-- event: one stream entry per call. Its first field is the number of transitions, and the value holds them in order. A second
-- field, `by`, names the API key that caused them.
local record = require 'base/record'
local text = require 'base/text'
local event = {}
local call, concat, bytes, short = redis.call, table.concat, text.bytes, text.short

-- Each kind with its length in front, and in it the mark of a batch's job.
local heads = setmetatable({}, {__index = function(self, kind)
  local head = short(kind)
  self[kind] = head
  return head
end})
local heads_in_batch = setmetatable({}, {__index = function(self, kind)
  local head = bytes[#kind + $IN_BATCH] .. kind
  self[kind] = head
  return head
end})

-- `header` is the job's.
function event.add(q, kind, id, worker, header, note)
  local head = record.is_member(header) and heads_in_batch[kind] or heads[kind]
  local n, client, size = q.event_count + 1, header.client, #note
  local low = size % 256
  q.event_count = n
  q.event_buffer[n] = head .. id .. bytes[#worker] .. worker .. bytes[#client] .. client .. bytes[(size - low) / 256] .. bytes[low] .. note
  local counted_kind = note == 'undelivered' and note or kind -- an undelivered job was never held, so it is not counted as abandoned
  q.kinds[counted_kind] = (q.kinds[counted_kind] or 0) + 1
end

-- What the service itself says of an abandon.
event.OWN_REASONS = {grace = true, undelivered = true}

-- The note of an abandon: the reason, after a byte that says that its worker skips the job, or that this is a reason which could be
-- taken for another note.
local SKIPPED, REASON = '\$SKIPPED_NOTE', '\$REASON_NOTE'
function event.reason(reason, skips)
  if skips then return SKIPPED .. reason end
  local first = reason:sub(1, 1)
  return (first == SKIPPED or first == REASON or event.OWN_REASONS[reason]) and REASON .. reason or reason
end

-- The note of an abandon that the service has made by itself.
function event.own_reason(reason, skips)
  return skips and SKIPPED .. reason or reason
end

-- Whether a note is one of the service: none of these is a text of a person.
function event.is_own_reason(note)
  return event.OWN_REASONS[note:sub(1, 1) == SKIPPED and note:sub(2) or note]
end

-- The name of the API key of this call; '' for none.
function event.set_actor(q, by)
  q.by = by ~= '' and by
end

-- Returns whether there was any event.
function event.write(q)
  if q.event_count == 0 then return false end
  local event_buffer = concat(q.event_buffer, '', 1, q.event_count)
  if q.by then
    call('XADD', q.events, '*', text.of(q.event_count), event_buffer, 'by', q.by)
  else
    call('XADD', q.events, '*', text.of(q.event_count), event_buffer)
  end
  return true
end

return event
