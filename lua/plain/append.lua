-- append: the fast path of a batch's creation. Its limit has no room yet, so every job is parked there. No job is stored, delayed or
-- external.
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local record_bytes = require 'base/record_bytes'
local event = require 'base/event'
local hint = require 'base/hint'
local stamp = require 'base/stamp'
local batch = require 'base/batch'
local gate = require 'jobs/gate'
local parking = require 'jobs/parking'
local order = require 'jobs/order'
local turns = order.turns
local STRIDE, HEAD, MOST = 2, 3, 100
local LAYOUT, LOCKS, MEMBER = text.bytes[record.LAYOUT], record.LOCKS / 256, record.MEMBER / 256
local ENQUEUED = event.heads_in_batch.enqueued
local call, pack, unpack_use, unpack, byte = redis.call, struct.pack, struct.unpack, unpack, string.byte
-- Tables reused between calls; a call reads only the entries that it has written.
local tails, priorities, shares, places, events = {}, {}, {}, {}, {}
local to_jobs, to_live, to_parked = {'HSET'}, {'HSET'}, {'ZADD'}

-- The batch, if its creation goes on here and all jobs will be parked.
local function read_batch(q, code, offset, purpose)
  local raw = purpose == 'make' and call('HGET', q.batches, code)
  local b = raw and batch.unpack(raw)
  if not b or b.stage ~= batch.MAKING or b.total ~= offset then return end
  local use = call('HGET', q.gates, '\0' .. code)
  if not use then return end
  local used, capacity = unpack_use(gate.USE, use)
  return used >= capacity and b
end

-- Reads the list; false if a job is unusual.
local function read_jobs(args, n, b)
  turns.open()
  for i = 1, n do
    if args[HEAD + i * STRIDE] ~= '' then return false end
    local tail = batch.tail(b, args[HEAD + i * STRIDE - 1])
    local high, low, priority = byte(tail, 1, 3)
    if high > MEMBER + LOCKS or low % 2 >= record.EXTERNAL then return false end
    tails[i], priorities[i], shares[i] = tail, priority, turns.share(priority, b.client)
  end
  return true
end

local function write(command, key, n)
  command[2] = key
  call(unpack(command, 1, n * 2 + 2))
end

return function(q, args)
  local code, offset, n = args[1], tonumber(args[2]), (#args - HEAD) / STRIDE
  local b = n > 0 and n <= MOST and read_batch(q, code, offset, args[3])
  if not b or offset + n > $BATCH_TOTAL or not read_jobs(args, n, b) then return end

  local now, name = clock.read(), '\0' .. code
  local before, count = stamp.read(q, 'enqueued', now)
  local rest = event.tail(b.client, '')
  turns.arrive(q, shares, n, places)
  for i = 1, n do
    local id, score, arrival, k = batch.member(code, offset + i - 1), places[i], pack('>I6', before + i), i * 2
    to_jobs[k + 1], to_jobs[k + 2] = id, LAYOUT .. arrival .. tails[i]
    to_live[k + 1], to_live[k + 2] = id, record_bytes.park(score, arrival, priorities[i], name)
    to_parked[k + 1], to_parked[k + 2] = '0', parking.at_gate(name, score, arrival .. id)
    events[i * 3 - 2], events[i * 3 - 1], events[i * 3] = ENQUEUED, id, rest
  end
  turns.write_arrivals(q)
  write(to_jobs, q.jobs, n)
  write(to_live, q.live, n)
  write(to_parked, q.parked, n)
  batch.grow(q, code, b, n, true, now)
  b.counts[record.BLOCKED] = b.counts[record.BLOCKED] + n
  local raw = batch.pack(b)
  call('HSET', q.batches, code, raw)
  event.publish(q, n, events)
  hint.publish(q, 0)
  stamp.write(q, before + n, 'enqueued', count + n)
  return {'counted', {'appended', raw}, 'enqueued', n}
end
