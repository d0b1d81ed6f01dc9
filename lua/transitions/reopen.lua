-- reopen: the worker takes a completion back in time, and holds the job again, with what was handed in as its draft.
--         reserved -> reserved
-- FLAGS  allow-oom
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · held zset ·
-- KEYS   restricted zset · lines zset · turns hash · jobs hash · payloads hash · live hash · results hash ·
-- KEYS   drafts hash · dedupe hash · gates hash · batches hash · timers zset · routes hash · alarms zset ·
-- KEYS   tops hash · settings hash · totals hash · events stream · hints channel
-- ARGV   per item 3: id, secret, digest of the secret
-- REPLY  per item: {'held', deadline ms, now ms, resumes, whether it was held before (0 | 1), draft ('' = none)} |
-- REPLY  {'lost', how, state ('' = unknown)} |
-- REPLY  {'later'}: in the next script, as all after it
local clock = require 'base/clock'
local text = require 'base/text'
local commit = require 'base/commit'
local closing = require 'jobs/closing'
local draft = require 'jobs/draft'
local items = require 'jobs/items'
local routing = require 'jobs/routing'
local reserve_context = require 'jobs/reserve_context'
local STRIDE = 3

-- The draft as the worker was shown it, or has typed it since.
local function kept(q, job)
  local id, lease, handed = job.id, job.lease, routing.handed(q, job.id, job.header)
  local raw = redis.call('HGET', q.drafts, id)
  return draft.shown(raw, draft.owner(lease.worker, lease.nonce), handed and handed.from, q.context.shares_drafts)
end

local function reopen(q, args, at)
  local id, secret, digest = args[at], args[at + 1], args[at + 2]
  local job = items.current(q, id, secret, digest)
  if not job then return items.refuse(q, id, digest, nil) end
  local lease, now = job.lease, clock.now(q)
  local is_held, given = not closing.is(lease), ''
  if not is_held then
    given = closing.take_back(q, job, reserve_context.capped(q, now + lease.ms, lease.reserved_at))
    draft.save(q, id, lease, given)
  end
  if given == '' then given = kept(q, job) end
  return {'held', text.of(job.deadline), text.of(now), text.of(lease.resumes), is_held and 1 or 0, given}
end

return function(q, args)
  items.read(q, args, STRIDE)
  reserve_context.open(q)
  return commit(q, items.each(q, args, STRIDE, reopen))
end
