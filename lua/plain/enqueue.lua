-- enqueue: where nothing is unusual. All of the list is new, of no gate, due now, with its payload in its record.
local record = require 'base/record'
local text = require 'base/text'
local event = require 'base/event'
local hint = require 'base/hint'
local total = require 'base/total'
local stamp = require 'base/stamp'
local commit = require 'base/commit'
local store = require 'jobs/store'
local turns = require 'plain/turns'
local STRIDE = 5
local LOCKS, CLIENT = record.LOCKS / 256, record.CLIENT
local LAYOUT, ENQUEUED, STORED = text.bytes[record.LAYOUT], text.short('enqueued'), text.words('stored', 'waiting')
local call, pack, unpack, byte, sub, band = redis.call, struct.pack, unpack, string.byte, string.sub, bit.band
-- Room for the list, kept between calls: of each, only as much is read as this call has written.
local ids, digests, whose, to_jobs, to_inbound, to_dedupe = {}, {}, {}, {'HSET'}, {'ZADD'}, {'HSET'}

-- Reads the ids and digests of a list in which nothing is twice or rare, and nothing needs a gate. Answers how many they
-- are; nil for another list.
local function read(args)
  local n = #args / STRIDE
  local met = n > 1 and {}
  turns.open()
  for i = 1, n do
    local at = (i - 1) * STRIDE
    local id, digest = args[at + 1], args[at + 3]
    if args[at + 5] ~= '' or byte(args[at + 4]) >= LOCKS then return end
    if met then
      if met[id] or met[digest] then return end
      met[id], met[digest] = true, digest ~= '' or nil
    end
    ids[i], digests[i], whose[i] = id, digest, turns.arrive(args[at + 2])
  end
  return n
end

-- None of them is there, nor a twin; there is room for all, and twins are looked for.
local function is_new(q, n)
  local chosen = call('HMGET', q.settings, 'dedupe', 'max_jobs')
  if chosen[1] == '0' or store.room_left(q, chosen[2]) < n then return false end
  local known, twins = call('HMGET', q.jobs, unpack(ids, 1, n)), call('HMGET', q.dedupe, unpack(digests, 1, n))
  for i = 1, n do
    if known[i] or twins[i] then return false end
  end
  return true
end

-- Behind its length, as it stands in a record behind flags and priority.
local function client_of(tail)
  if band(byte(tail, 2), CLIENT) == 0 then return '\0' end
  return sub(tail, 4, 4 + byte(tail, 4))
end

return function(q, args)
  local n = read(args)
  if not n or not is_new(q, n) then return end

  turns.write_arrivals(q)
  local deduped, replies, tale, before = 2, {}, q.tale, stamp.take(q, n) - 1
  to_jobs[2], to_inbound[2], to_dedupe[2] = q.jobs, q.inbound, q.dedupe
  for i = 1, n do
    local tail, k, id, arrival = args[i * STRIDE - 1], i * 2 + 1, ids[i], pack('>I6', before + i)
    to_jobs[k], to_jobs[k + 1] = id, LAYOUT .. arrival .. tail
    to_inbound[k], to_inbound[k + 1] = text.of(turns.place(whose[i])), arrival .. id
    if digests[i] ~= '' then
      to_dedupe[deduped + 1], to_dedupe[deduped + 2], deduped = digests[i], id, deduped + 2
    end
    tale[i] = ENQUEUED .. id .. '\0' .. client_of(tail) .. '\0\0'
    replies[i] = STORED
  end
  call(unpack(to_jobs, 1, n * 2 + 2))
  call(unpack(to_inbound, 1, n * 2 + 2))
  if deduped > 2 then call(unpack(to_dedupe, 1, deduped)) end
  event.told(q, 'enqueued', n)
  total.count(q, 'enqueued', n)
  hint.became_ready(q, n)
  return commit(q, replies)
end
