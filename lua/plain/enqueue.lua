-- enqueue: where nothing is unusual. All of the list is new, of no batch, due now, with its payload in its record, and its
-- locks are free.
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local patch = require 'base/patch'
local store = require 'jobs/store'
local books = require 'plain/books'
local fields_of = require 'plain/fields'
local gates = require 'plain/gates'
local turns = require 'plain/turns'
local STRIDE = 2
local NOBODY = {}
-- What comes is a record without its first seven bytes, layout and stamp.
local ID_LEN, LOCKS, PARTS = $ID_LEN, record.LOCKS / 256, patch.PARTS - 7
local LAYOUT, ENQUEUED, STORED = text.bytes[record.LAYOUT], text.short('enqueued'), text.words('stored', 'waiting')
local call, pack, unpack, byte = redis.call, struct.pack, unpack, string.byte
-- Room for the list, kept between calls: of each, only as much is read as this call has written.
local ids, digests, whose, clients, tale, one = {}, {}, {}, {}, {ENQUEUED}, {}
local to_jobs, to_inbound, to_dedupe = {'HSET'}, {'ZADD'}, {'HSET'}

-- Reads a list in which nothing is twice or rare. Answers how many have a digest, nil for another list; and whether any has
-- locks.
local function read(args, n)
  local met, deduped, is_locked, known_client, known_priority, k = n > 1 and {} or NOBODY, 0, false, nil, nil, nil
  turns.open()
  for i = 1, n do
    local id, tail = args[i * 2 - 1], args[i * 2]
    local high, low, priority = byte(tail, 1, 3)
    local client, digest = patch.parts(tail, low, PARTS)
    if #id > ID_LEN or high > LOCKS or met[id] or met[digest] then return end
    if n > 1 then met[id] = true end
    if digest then
      if n > 1 then met[digest] = true end
      deduped = deduped + 1
      digests[deduped], to_dedupe[deduped * 2 + 1], to_dedupe[deduped * 2 + 2] = digest, digest, id
    end
    if client ~= known_client or priority ~= known_priority then
      known_client, known_priority, k = client, priority, turns.whose(priority, client)
    end
    if high == LOCKS then
      is_locked = is_locked or gates.open()
      gates.note(id, tail, low, PARTS)
    end
    ids[i], clients[i], whose[i] = id, client, k
  end
  return deduped, is_locked
end

local function is_there(key, names, n)
  if n == 0 then return false end
  local found = fields_of(key, names, 1, n, one)
  for i = 1, n do
    if found[i] then return true end
  end
  return false
end

-- None of them is there, nor a twin; there is room for all, and twins are looked for.
local function is_new(q, n, deduped)
  local chosen = call('HMGET', q.settings, 'dedupe', 'max_jobs')
  if chosen[1] == '0' or store.room_left(q, chosen[2]) < n then return false end
  return not is_there(q.jobs, ids, n) and not is_there(q.dedupe, digests, deduped)
end

-- The answer is the same for all lists of a length.
local answers = setmetatable({}, {__index = function(self, n)
  local fields = {'enqueued', text.of(n)}
  for i = 1, n do fields[i + 2] = STORED end
  self[n] = text.packed(fields, n + 2)
  return self[n]
end})

return function(q, args)
  local n = #args / STRIDE
  local deduped, is_locked = read(args, n)
  if not deduped or not is_new(q, n, deduped) or is_locked and not gates.are_free(q) then return end

  local before, count = books.read(q, 'enqueued', clock.read())
  local known, rest
  turns.arrive(q, whose, n, to_inbound)
  for i = 1, n do
    local id, k, arrival, client = ids[i], i * 2, pack('>I6', before + i), clients[i]
    to_jobs[k + 1], to_jobs[k + 2], to_inbound[k + 2] = id, LAYOUT .. arrival .. args[k], arrival .. id
    if client ~= known then
      known, rest = client, '\0' .. text.short(client) .. '\0\0' .. ENQUEUED
    end
    tale[k], tale[k + 1] = id, rest
  end
  to_jobs[2], to_inbound[2], to_dedupe[2] = q.jobs, q.inbound, q.dedupe
  turns.write_arrivals(q)
  call(unpack(to_jobs, 1, n * 2 + 2))
  call(unpack(to_inbound, 1, n * 2 + 2))
  if deduped > 0 then call(unpack(to_dedupe, 1, deduped * 2 + 2)) end
  books.tell(q, tale, n, n)
  books.write(q, 'enqueued', before + n, count + n)
  return answers[n]
end
