-- cancel: a producer or operator withdraws a job.   waiting | blocked | delayed | dead | reserved (force) -> cancelled
-- FLAGS  allow-oom
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · held zset ·
-- KEYS   restricted zset · lines zset · turns hash · jobs hash · payloads hash · live hash · results hash ·
-- KEYS   drafts hash · dedupe hash · gates hash · batches hash · timers zset · routes hash · alarms zset ·
-- KEYS   tops hash · settings hash · totals hash · events stream · actions hash · hints channel
-- ARGV   id, force (0 | 1), name of the API key ('' = none), note for the list of actions ('' = a producer's call)
-- REPLY  {'cancelled'} | {'unknown'} | {'state', state}: completed, or now because its worker has, reserved without force, dead in a batch that is over
local record = require 'base/record'
local clock = require 'base/clock'
local event = require 'base/event'
local action = require 'base/action'
local commit = require 'base/commit'
local batch = require 'base/batch'
local place = require 'jobs/place'
local ended = require 'jobs/ended'
local leave = require 'jobs/leave'
local ending = require 'jobs/ending'
local closing = require 'jobs/closing'
local route = require 'jobs/route'
local RESERVED = record.RESERVED

-- A dead job stays dead once its batch is over.
local function is_kept(q, id, r, header)
  return r.state == record.DEAD and record.is_member(header) and batch.is_over(batch.read(q, batch.of(id)))
end

-- Takes the job out of its set. Returns the worker who loses it. `is_over`: it has expired before.
local function take_away(q, id, r, header, overdue, is_over)
  if r.state ~= RESERVED then
    ending.leave_set(q, id, r, header)
    return ''
  end
  local lease = record.lease(r.lease)
  if overdue then
    leave.by_time(q, id, r, lease, header, is_over)
    return ''
  end
  leave.lease(q, id, r, lease, ended.CANCELLED, header)
  return lease.worker
end

return function(q, args)
  local id, force = args[1], args[2] == '1'
  event.set_actor(q, args[3])
  local raw, live = redis.call('HGET', q.jobs, id), redis.call('HGET', q.live, id)
  local header = raw and record.header(raw)
  if not header or record.is_alias(header) then return {'unknown'} end
  local r = live and record.live(live) or place.unseen(q, id, header)
  local overdue = r.state == RESERVED and clock.now(q) >= tonumber(redis.call('ZSCORE', q.reserved, id) or 0)
  if r.state == record.CANCELLED then return {'cancelled'} end
  local lease = r.lease ~= '' and record.lease(r.lease)
  if lease and closing.is(lease) and (force or overdue) then
    closing.finish(q, id, r, lease, header)
    return commit(q, {'state', record.STATES[r.state]})
  end
  local is_held = r.state == RESERVED and not overdue
  if r.state == record.COMPLETED or is_kept(q, id, r, header) or is_held and not force then
    return {'state', record.STATES[r.state]}
  end

  local is_over = r.state ~= record.DEAD and route.is_over(q, id, header)
  local worker = take_away(q, id, r, header, overdue, is_over)
  if is_over then ending.cancel_expired(q, id, r, header) else ending.cancel(q, id, r, header, worker) end
  action.add(q, args[4], 1)
  return commit(q, {'cancelled'})
end
