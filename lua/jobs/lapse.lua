-- lapse: what time has done to a job, swept or not. A call that acts on the state of a job lets it lapse first: its expiry, the deadline of
-- its reservation, the end of a completion that could be taken back, the end of its delay.
local record = require 'base/record'
local clock = require 'base/clock'
local write = require 'base/write'
local event = require 'base/event'
local gate = require 'jobs/gate'
local order = require 'jobs/order'
local back = require 'jobs/back'
local ending = require 'jobs/ending'
local loaded = require 'jobs/loaded'
local place = require 'jobs/place'
local route = require 'jobs/route'
local routing = require 'jobs/routing'
local lapse = {}
local RESERVED, DELAYED, WAITING = record.RESERVED, record.DELAYED, record.WAITING

-- The delay of a job is over since then; its fallback counts from that.
local function fall_due(q, id, r, header, since)
  write.remove(q, 'delayed', id)
  if r.score < 0 then
    write.spend(q, 2)
    order.arrive(q, r, r.priority, header.client)
  end
  event.add(q, 'due', id, '', header, '') -- before the job may be cancelled with its batch
  routing.ready(q, id, header, since)
  back.to_line(q, id, r, header)
end

-- `at`: the deadline of its reservation or the end of its delay. Returns whether time has done anything to the job.
function lapse.job(q, id, r, header, at)
  local is_due = at <= clock.now(q)
  if r.state == RESERVED then
    -- A move to a Redis with another clock may have left a deadline beyond the expiry.
    if not is_due and not route.is_over(q, id, header) then return false end
    back.expire(q, id, r, record.lease(r.lease), header)
  elseif not ending.expire(q, id, r, header) then
    if r.state ~= DELAYED or not is_due then return false end
    fall_due(q, id, r, header, at)
  end
  return true
end

-- The state that time has brought a job to; WAITING stands for every one in which it can still be handed out.
function lapse.state(q, id, r, header, at)
  if route.is_over_in(q, id, header, r.state) then return record.CANCELLED end
  if r.state ~= RESERVED or at > clock.now(q) and not route.is_over(q, id, header) then return r.state end
  local state = back.state_after(q, id, r, record.lease(r.lease), header)
  return state == WAITING and back.is_called_off(q, id, header) and record.CANCELLED or state
end

-- When time next does something to jobs in these states, besides their expiry.
local function times_of(q, ids)
  local deadlines, delays = redis.call('ZMSCORE', q.reserved, unpack(ids)), redis.call('ZMSCORE', q.delayed, unpack(ids))
  local times = {}
  for i in ipairs(ids) do times[i] = tonumber(deadlines[i] or delays[i] or math.huge) end
  return times
end

-- Reads jobs by id and lets them lapse. Returns them, {id, record, header, at: as for lapse.job} each, false for what is no job; and whether time has done anything to
-- any of them, which is written then. When the budget is spent, the rest of the list is nil.
function lapse.read(q, ids)
  local lives, raws, times = redis.call('HMGET', q.live, unpack(ids)), redis.call('HMGET', q.jobs, unpack(ids)), times_of(q, ids)
  local jobs, new, has_changed = {}, {}, false
  for i, id in ipairs(ids) do
    local header = raws[i] and record.header(raws[i])
    jobs[i] = header and not record.is_alias(header) and {
      id = id, record = lives[i] and record.live(lives[i]), header = header, at = times[i],
    }
    if jobs[i] and not lives[i] then new[#new + 1] = jobs[i] end
  end
  place.unseen_ones(q, new)
  route.prefetch(q, ids, raws)
  gate.prefetch(q, jobs)
  -- A baton that one of them passes may put back another.
  for _, job in ipairs(jobs) do
    if job then loaded.note(q, job.id, job.record, job.header) end
  end
  for i, job in ipairs(jobs) do
    if write.is_spent(q) then
      jobs[i] = nil
    elseif job then
      has_changed = lapse.job(q, job.id, job.record, job.header, times[i]) or has_changed
    end
  end
  if has_changed then write.flush(q) end
  return jobs, has_changed
end

return lapse
