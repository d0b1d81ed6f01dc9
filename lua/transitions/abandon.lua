-- abandon: the holder gives the job back, now or after a grace, and it keeps its place.
--          reserved -> waiting | blocked | delayed | reserved (for the grace)
-- FLAGS  allow-oom if-small
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · held zset ·
-- KEYS   restricted zset · lines zset · turns hash · jobs hash · live hash · results hash · drafts hash ·
-- KEYS   dedupe hash · gates hash · batches hash · timers zset · routes hash · alarms zset · tops hash ·
-- KEYS   settings hash · totals hash · events stream · hints channel
-- ARGV   per item 9: id, secret, digest of the secret, reason, delay ms (0 = none), skip (0 | 1), grace ms (0 = none),
-- ARGV   the resumes that the caller knows of (-1 = any), draft ('' = leave it, 'null' = remove it)
-- REPLY  per item: {'back', state} | {'again', state} | {'lost', how, state ('' = unknown)} | {'closing', ms left to take back its completion} |
-- REPLY  {'grace', 'reserved'} | {'resumed', 'reserved'}: its holder has come back since |
-- REPLY  {'unnamed'}: an unnamed worker cannot skip | {'beyond'}: it would expire before its delay ends | {'later'}: in the next script, as all after it
local record = require 'base/record'
local clock = require 'base/clock'
local write = require 'base/write'
local event = require 'base/event'
local total = require 'base/total'
local commit = require 'base/commit'
local gate = require 'jobs/gate'
local ended = require 'jobs/ended'
local skip = require 'jobs/skip'
local back = require 'jobs/back'
local items = require 'jobs/items'
local draft = require 'jobs/draft'
local route = require 'jobs/route'
local STRIDE = 9
local STATES, SKIPS = record.STATES, record.SKIPS
local STAYS = record.STAYS

-- The holder has left and may return within the grace. Written at once, because the next item may end it.
local function start_grace(q, job, id, grace, skips)
  local r, lease = job.record, job.lease
  local granted = route.uncut(q, id, job.header, job.deadline)
  job.deadline = route.cut(q, id, job.header, math.min(granted, clock.now(q) + grace))
  lease.marks = bit.bor(bit.band(lease.marks, STAYS), record.GRACE, skips and SKIPS or 0)
  r.lease = record.pack_lease(lease)
  write.ask(q, 'ZADD', q.reserved, job.deadline, id)
  gate.keep(q, id, r)
  return {'grace', STATES[r.state]}
end

local function give_back(q, job, id, reason, delay, skips)
  local r, worker = job.record, job.lease.worker
  r.abandoned = r.abandoned + 1
  if skips then skip.add(r, worker) end
  items.end_reservation(q, job, id, ended.ABANDONED, reason)
  event.add(q, 'abandoned', id, worker, job.header, event.reason(reason, skips))
  if delay > 0 then back.to_delay(q, id, r, job.header, delay) else back.to_line(q, id, r, job.header) end
  total.count(q, 'abandoned')
  return {'back', STATES[r.state]}
end

local function abandon(q, args, at)
  local id, secret, digest, reason, delay = args[at], args[at + 1], args[at + 2], args[at + 3], tonumber(args[at + 4])
  local skips, grace, resumes = args[at + 5] == '1', tonumber(args[at + 6]), tonumber(args[at + 7])
  local job = items.live_holder(q, id, secret, digest)
  if not job then return items.refuse(q, id, digest, ended.ABANDONED) end
  local worker = job.lease.worker
  if resumes >= 0 and resumes < job.lease.resumes then return {'resumed', STATES[job.record.state]} end
  if skips and worker == '' then return {'unnamed'} end
  local own = delay > 0 and route.of(q, id, job.header)
  if own and own.expires and own.expires <= clock.now(q) + delay then return {'beyond'} end
  -- A skip that waits for the end of a grace stays until its worker comes back, even if a closing page sends none.
  skips = skips or record.is_marked(job.lease, SKIPS)
  draft.save(q, id, job.lease, args[at + 8])
  if grace > 0 then return start_grace(q, job, id, grace, skips) end
  return give_back(q, job, id, reason, delay, skips)
end

return function(q, args)
  items.read(q, args, STRIDE)
  items.prefetch_ends(q)
  return commit(q, items.each(q, args, STRIDE, abandon))
end
