-- event: one stream entry a script call. Its field is the number of transitions in it, its value holds them in order.
-- USES   record
-- KEYS   events stream
local transitions, kinds = {}, {}

-- `header` is the job's; the first bit says that it belongs to a batch.
local function event(kind, id, worker, header, note)
  local client, of_batch = header.client, bit.band(header.flags, MEMBER) ~= 0 and 128 or 0
  transitions[#transitions + 1] =
    struct.pack('>Bc0c26Bc0Bc0I2c0', #kind + of_batch, kind, id, #worker, worker, #client, client, #note, note)
  local told = note == 'undelivered' and note or kind -- it was never anybody's to abandon
  kinds[told] = (kinds[told] or 0) + 1
end

-- Answers whether there was anything to tell.
local function write_events()
  local n = #transitions
  if n > 0 then redis.call('XADD', events, '*', n, table.concat(transitions)) end
  return n > 0
end
