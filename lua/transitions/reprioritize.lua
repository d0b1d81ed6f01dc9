-- reprioritize: an operator changes how urgent a job is; a reserved one has it on its return.
--        waiting | blocked | reserved | delayed, blocked -> waiting if it has come before others
-- FLAGS  allow-oom
-- KEYS   inbound zset · parked zset · turns hash · jobs hash · live hash · gates hash · batches hash · timers zset ·
-- KEYS   tops hash · totals hash · events stream · hints channel
-- ARGV   id, priority, by whose key ('' = nobody's)
-- REPLY  {'changed', state} | {'unknown'} | {'state', state}: the job has ended
local record = require 'base/record'
local event = require 'base/event'
local commit = require 'base/commit'
local place = require 'jobs/place'
local order = require 'jobs/order'
local gate = require 'jobs/gate'
local parking = require 'jobs/parking'
local baton = require 'jobs/baton'
local STATES, WAITING, BLOCKED = record.STATES, record.WAITING, record.BLOCKED

local function has_ended(state)
  return state == record.COMPLETED or state == record.DEAD or state == record.CANCELLED
end

-- It stands elsewhere now, in line or at its gate.
local function line_up_anew(q, id, r, header, name)
  if r.state == WAITING then
    baton.enter_line(q, id, r)
    -- Somebody who is parked at one of its gates may be before it now.
    baton.pass_all(q, id, header)
  elseif r.state == BLOCKED then
    baton.park(q, id, r, header, name)
    -- If it is the first one there now, and there is room, it is the one to be put back.
    if place.id_of(parking.first(q, name)) == id then baton.pass(q, name) end
  end
end

return function(q, args)
  local id, priority = args[1], tonumber(args[2])
  event.act(q, args[3])
  local raw, live = redis.call('HGET', q.jobs, id), redis.call('HGET', q.live, id)
  local header = raw and record.header(raw)
  if not header or record.is_alias(header) then return {'unknown'} end
  local r = live and record.live(live) or place.unseen(q, id, header)
  if has_ended(r.state) then return {'state', STATES[r.state]} end
  local before = r.score < 0 and r.priority or order.priority_of(r.score)
  if before == priority then return {'changed', STATES[r.state]} end

  local name = r.gate
  if r.state == BLOCKED then baton.unpark(q, id, r) end
  if r.state == WAITING then baton.leave_line(q, id, r) end
  r.priority = priority
  if r.score >= 0 then order.arrive(q, r, priority, header.client) end
  gate.keep(q, id, r)
  line_up_anew(q, id, r, header, name)
  event.tell(q, 'changed', id, '', header, '')
  return commit(q, {'changed', STATES[r.state]})
end
