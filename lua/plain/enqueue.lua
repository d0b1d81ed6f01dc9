-- enqueue: the fast path. Every job of the list is new, belongs to no batch, is due now, holds its payload in its record, its locks are
-- free, and it has locks or a route or neither.
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local record_bytes = require 'base/record_bytes'
local event = require 'base/event'
local hint = require 'base/hint'
local stamp = require 'base/stamp'
local fields_of = require 'base/fields'
local store = require 'jobs/store'
local gate = require 'jobs/gate'
local order = require 'jobs/order'
local routed = require 'plain/routed'
local turns, locks = order.turns, gate.locks
local STRIDE = 2
local NONE = {}
-- An argument is a record without layout and stamp, its first seven bytes.
local ID_LEN, LOCKS, ROUTED, PARTS = $ID_LEN, record.LOCKS / 256, record.ROUTED / 256, record_bytes.PARTS - 7
local LAYOUT, ENQUEUED, STORED = text.bytes[record.LAYOUT], event.heads.enqueued, text.words('stored', 'waiting')
local call, pack, unpack, byte, sub = redis.call, struct.pack, unpack, string.byte, string.sub
-- Tables reused between calls; a call reads only the entries that it has written.
local ids, digests, shares, clients, places, events, one, with_route = {}, {}, {}, {}, {}, {}, {}, {}
local to_jobs, to_inbound, to_dedupe = {'HSET'}, {'ZADD'}, {'HSET'}

-- Reads the list. Returns the number of digests, whether any job has locks, and the time if any has a route; nil if a job is unusual or
-- comes twice.
local function read(q, args, n)
  local met, deduped, is_locked, now, known_client, known_priority, k = n > 1 and {} or NONE, 0, false, nil, nil, nil, nil
  turns.open()
  for i = 1, n do
    local id, tail = args[i * 2 - 1], args[i * 2]
    local high, low, priority = byte(tail, 1, 3)
    local client, digest = record_bytes.parts(tail, low, PARTS)
    local has_route = high == ROUTED
    with_route[i] = has_route
    if has_route then
      now = now or routed.open(q)
      if not routed.note(q, i, id, now) then return end
      id = sub(id, 1, ID_LEN)
    end
    if #id > ID_LEN or high > LOCKS and not has_route or met[id] or met[digest] then return end
    if n > 1 then met[id] = true end
    if digest then
      if n > 1 then met[digest] = true end
      deduped = deduped + 1
      digests[deduped], to_dedupe[deduped * 2 + 1], to_dedupe[deduped * 2 + 2] = digest, digest, id
    end
    if client ~= known_client or priority ~= known_priority then
      known_client, known_priority, k = client, priority, turns.share(priority, client)
    end
    if high == LOCKS then
      is_locked = is_locked or locks.open()
      locks.note(id, tail, low, PARTS)
    end
    ids[i], clients[i], shares[i] = id, client, k
  end
  return deduped, is_locked, now
end

local function is_there(key, names, n)
  if n == 0 then return false end
  local found = fields_of(key, names, 1, n, one)
  for i = 1, n do
    if found[i] then return true end
  end
  return false
end

-- No job and no twin is stored yet, there is room for all, and the queue deduplicates.
local function is_new(q, n, deduped)
  local chosen = call('HMGET', q.settings, 'dedupe', 'max_jobs')
  if chosen[1] == '0' or store.room_left(q, chosen[2]) < n then return false end
  return not is_there(q.jobs, ids, n) and not is_there(q.dedupe, digests, deduped)
end

-- The reply depends on the length of the list only.
local answers = setmetatable({}, {__index = function(self, n)
  local fields = {'enqueued', text.of(n)}
  for i = 1, n do fields[i + 2] = STORED end
  self[n] = text.packed(fields, n + 2)
  return self[n]
end})

return function(q, args)
  local n = #args / STRIDE
  local deduped, is_locked, now = read(q, args, n)
  if not deduped or not is_new(q, n, deduped) or is_locked and not locks.are_free(q) then return end

  local is_routed = now ~= nil
  local before, count = stamp.read(q, 'enqueued', now or clock.read())
  local known, rest, in_line = nil, nil, 0
  turns.arrive(q, shares, n, places)
  for i = 1, n do
    local id, k, arrival, client = ids[i], i * 2, pack('>I6', before + i), clients[i]
    to_jobs[k + 1], to_jobs[k + 2] = id, LAYOUT .. arrival .. args[k]
    if not is_routed or not with_route[i] or not routed.enter(i, id, places[i], arrival, byte(args[k], 3)) then
      in_line = in_line + 1
      to_inbound[in_line * 2 + 1], to_inbound[in_line * 2 + 2] = text.of(places[i]), arrival .. id
    end
    if client ~= known then
      known, rest = client, '\0' .. text.short(client) .. '\0\0'
    end
    events[i * 3 - 2], events[i * 3 - 1], events[i * 3] = ENQUEUED, id, rest
  end
  to_jobs[2], to_inbound[2], to_dedupe[2] = q.jobs, q.inbound, q.dedupe
  turns.write_arrivals(q)
  call(unpack(to_jobs, 1, n * 2 + 2))
  if in_line > 0 then call(unpack(to_inbound, 1, in_line * 2 + 2)) end
  if is_routed then routed.write(q) end
  if deduped > 0 then call(unpack(to_dedupe, 1, deduped * 2 + 2)) end
  event.publish(q, n, events)
  hint.publish(q, in_line)
  if in_line < n then routed.announce() end
  stamp.write(q, before + n, 'enqueued', count + n)
  return answers[n]
end
