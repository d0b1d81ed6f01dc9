-- undo: takes back new reservations that were never delivered, because the caller of the reserve is gone.   reserved -> waiting | blocked
-- FLAGS  allow-oom
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · held zset ·
-- KEYS   restricted zset · lines zset · turns hash · jobs hash · live hash · results hash · drafts hash ·
-- KEYS   dedupe hash · gates hash · batches hash · timers zset · routes hash · alarms zset · tops hash ·
-- KEYS   settings hash · totals hash · events stream · hints channel
-- ARGV   per item 2: id, secret of the reservation that was never delivered
-- REPLY  per item: {'undone'} | {'kept'}: another call has it, or it has ended | {'later'}: in the next script
local event = require 'base/event'
local commit = require 'base/commit'
local back = require 'jobs/back'
local items = require 'jobs/items'
local STRIDE = 2

local function undo(q, args, at)
  local id, secret = args[at], args[at + 1]
  local job = items.holder(q, id, secret)
  if not job or job.lease.resumes > 0 or job.lease.marks > 0 then return {'kept'} end
  local worker = job.lease.worker
  job.record.handed_out = job.record.handed_out - 1
  items.end_reservation(q, job, id, nil)
  event.add(q, 'abandoned', id, worker, job.header, 'undelivered')
  back.to_line(q, id, job.record, job.header)
  return {'undone'}
end

return function(q, args)
  items.read(q, args, STRIDE)
  items.prefetch_ends(q)
  return commit(q, items.each(q, args, STRIDE, undo))
end
