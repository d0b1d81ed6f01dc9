-- event: one stream entry a call. Its field is the number of transitions in it, its value holds them in order. If somebody
-- did them with a key, a field more says by whose.
local record = require 'base/record'
local text = require 'base/text'
local event = {}
local call, concat, pack, bytes, short = redis.call, table.concat, struct.pack, text.bytes, text.short

-- The kinds of transition behind their lengths; the first bit says that the job belongs to a batch.
local heads = setmetatable({}, {__index = function(self, kind)
  local head = short(kind)
  self[kind] = head
  return head
end})
local heads_in_batch = setmetatable({}, {__index = function(self, kind)
  local head = bytes[#kind + 128] .. kind
  self[kind] = head
  return head
end})

-- `header` is the job's.
function event.tell(q, kind, id, worker, header, note)
  local head = record.is_member(header) and heads_in_batch[kind] or heads[kind]
  local n, client = q.told + 1, header.client
  q.told = n
  q.tale[n] = head .. id .. bytes[#worker] .. worker .. bytes[#client] .. client
    .. (note == '' and '\0\0' or pack('>I2c0', #note, note))
  local told = note == 'undelivered' and note or kind -- it was never anybody's to abandon
  q.kinds[told] = (q.kinds[told] or 0) + 1
end

-- One entry of so many transitions.
function event.publish(q, n, tale)
  call('XADD', q.events, '*', text.of(n), tale)
end

-- Whose key it is that this call comes with; '' for nobody's.
function event.act(q, by)
  q.by = by ~= '' and by
end

-- Answers whether there was anything to tell.
function event.write(q)
  if q.told == 0 then return false end
  local tale = concat(q.tale, '', 1, q.told)
  if q.by then
    call('XADD', q.events, '*', text.of(q.told), tale, 'by', q.by)
  else
    event.publish(q, q.told, tale)
  end
  return true
end

return event
