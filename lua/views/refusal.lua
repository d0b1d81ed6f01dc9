-- refusal: what a completion is answered whose result does not fit the form of the queue.   reads only
-- FLAGS  no-writes
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · held zset ·
-- KEYS   restricted zset · lines zset · turns hash · jobs hash · live hash · results hash · drafts hash ·
-- KEYS   dedupe hash · gates hash · batches hash · timers zset · routes hash · alarms zset · tops hash ·
-- KEYS   settings hash · totals hash · events stream · hints channel
-- ARGV   id; secret, digest of the secret, and behind them the result ('' = none); the resumes that the caller knows of (-1 = any)
-- REPLY  {'invalid'}: the reservation is live, or late and still able to count | its words, as of complete, 'again' and late (0 | 1) |
-- REPLY  'closed', 1 and how long it can still be taken back, ms: once more | {'closing', that}: another result |
-- REPLY  {'undone'}: it was taken back since the caller looked | {'lost', how, state ('' = unknown)}
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local items = require 'jobs/items'
local claim = require 'jobs/claim'
local ended = require 'jobs/ended'
local closing = require 'jobs/closing'
local back = require 'jobs/back'
local route = require 'jobs/route'
local STATES = record.STATES

-- For the holder of a reservation that is over, which no sweep has written yet.
local function lapsed(q, job, given, resumes)
  local lease, header = job.lease, job.header
  local state = STATES[back.state_after(q, job.id, job.record, lease, header)]
  if not closing.is(lease) then return claim.held(q, job, given, resumes) or {'lost', ended.ENDINGS[ended.EXPIRED], state} end
  local is_same = closing.result(q, job.id) == given
  if is_same then return text.words('again', 0) end
  return {'lost', ended.ENDINGS[ended.DONE], state}
end

-- For a reservation that is not live.
local function gone(q, job, digest, given, resumes)
  local r = job and not job.lease and job.record
  if r and route.is_over_in(q, job.id, job.header, r.state) then r.state = record.CANCELLED end
  return claim.ended(q, job, digest, given, resumes) or {'invalid'}
end

return function(q, args)
  items.read(q, args, #args)
  local id, resumes = args[1], tonumber(args[3])
  local secret, digest, given = claim.read(args[2])
  local job = items.holder(q, id, secret)
  if not job then return gone(q, q.loaded[id], digest, given, resumes) end
  local is_over = route.is_over(q, id, job.header) or closing.is(job.lease) and clock.now(q) >= job.deadline
  if is_over then return lapsed(q, job, given, resumes) end
  return claim.held(q, job, given, resumes) or {'invalid'}
end
