-- extend: the holder keeps working; a lost reservation is never revived.   reserved -> reserved
-- FLAGS  allow-oom if-small
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · held zset ·
-- KEYS   restricted zset · lines zset · turns hash · jobs hash · live hash · results hash · drafts hash ·
-- KEYS   dedupe hash · gates hash · batches hash · timers zset · routes hash · alarms zset · tops hash ·
-- KEYS   settings hash · totals hash · events stream · hints channel
-- ARGV   per item 5: id, secret, digest of the secret, lease ms (0 = as long as the reservation was given), draft
-- ARGV   ('' = leave it, 'null' = remove it)
-- REPLY  per item: {'extended', deadline ms, now ms} | {'lost', how, state ('' = unknown)} | {'closing', ms left to take back its completion} |
-- REPLY  {'later'}: in the next script, as all after it
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local write = require 'base/write'
local event = require 'base/event'
local commit = require 'base/commit'
local gate = require 'jobs/gate'
local items = require 'jobs/items'
local route = require 'jobs/route'
local draft = require 'jobs/draft'
local STRIDE = 5
local STAYS = record.STAYS

-- Ends a grace: the holder is back.
local function end_grace(q, id, job)
  local lease = job.lease
  if not record.is_marked(lease, record.GRACE) then return end
  lease.marks = bit.band(lease.marks, STAYS)
  job.record.lease = record.pack_lease(lease)
  gate.keep(q, id, job.record)
end

local function extend(q, args, at)
  local id, secret, digest, lease_ms, typed = args[at], args[at + 1], args[at + 2], tonumber(args[at + 3]), args[at + 4]
  local job, now = items.live_holder(q, id, secret, digest), clock.now(q)
  if not job then return items.refuse(q, id, digest, nil) end
  local lease = job.lease
  local deadline = now + (lease_ms > 0 and lease_ms or lease.ms)
  -- A maximum hold that was lowered meanwhile does not shorten a granted deadline.
  local granted = route.uncut(q, id, job.header, job.deadline)
  if q.max_hold > 0 then deadline = math.min(deadline, math.max(granted, lease.reserved_at + q.max_hold)) end
  deadline = route.cut(q, id, job.header, deadline)
  job.deadline = deadline
  write.add(q, 'reserved', text.of(deadline), id)
  draft.save(q, id, lease, typed)
  end_grace(q, id, job)
  event.add(q, 'extended', id, lease.worker, job.header, '')
  return {'extended', deadline, now}
end

return function(q, args)
  items.read(q, args, STRIDE)
  q.max_hold = tonumber(redis.call('HGET', q.settings, 'max_hold_ms') or $MAX_HOLD_MS)
  return commit(q, items.each(q, args, STRIDE, extend))
end
