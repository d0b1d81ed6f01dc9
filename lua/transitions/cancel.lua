-- cancel: a producer or operator withdraws a job.   waiting | blocked | delayed | dead | reserved (force) -> cancelled
-- FLAGS  allow-oom
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · held zset ·
-- KEYS   restricted zset · lines zset · turns hash · jobs hash · live hash · results hash · drafts hash ·
-- KEYS   dedupe hash · gates hash · batches hash · timers zset · routes hash · alarms zset · tops hash ·
-- KEYS   settings hash · totals hash · events stream · actions hash · hints channel
-- ARGV   id, force (0 | 1), name of the API key ('' = none), note for the list of actions ('' = a producer's call)
-- REPLY  {'cancelled'} | {'unknown'} | {'state', state}: completed, or now because its worker has, reserved without force, dead in a batch that is over
local record = require 'base/record'
local event = require 'base/event'
local action = require 'base/action'
local commit = require 'base/commit'
local batch = require 'base/batch'
local ended = require 'jobs/ended'
local leave = require 'jobs/leave'
local ending = require 'jobs/ending'
local closing = require 'jobs/closing'
local lapse = require 'jobs/lapse'
local RESERVED = record.RESERVED

-- A dead job stays dead once its batch is over.
local function is_kept(q, id, r, header)
  return r.state == record.DEAD and record.is_member(header) and batch.is_over_by_now(batch.read(q, batch.of(id)))
end

-- Takes the job out of its set. Returns the worker who loses it.
local function take_away(q, id, r, header, lease)
  if lease then
    leave.lease(q, id, r, lease, ended.CANCELLED, header)
    return lease.worker
  end
  ending.leave_set(q, id, r, header)
  return ''
end

-- Whether the call cancels a job in this state.
local function cancel(q, id, r, header, force)
  local lease = r.state == RESERVED and record.lease(r.lease)
  if lease and force and closing.is(lease) then
    closing.finish(q, id, r, lease, header)
    return false
  end
  if r.state == record.COMPLETED or is_kept(q, id, r, header) or lease and not force then return false end
  ending.cancel(q, id, r, header, take_away(q, id, r, header, lease))
  return true
end

return function(q, args)
  local id = args[1]
  event.set_actor(q, args[3])
  local job = lapse.read(q, {id})[1]
  if not job then return {'unknown'} end
  local r = job.record
  if r.state ~= record.CANCELLED then
    if not cancel(q, id, r, job.header, args[2] == '1') then return commit(q, {'state', record.STATES[r.state]}) end
    action.add(q, args[4], 1)
  end
  return commit(q, {'cancelled'})
end
