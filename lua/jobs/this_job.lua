-- this_job: reserves a job by id, at any place in line.
local record = require 'base/record'
local write = require 'base/write'
local place = require 'jobs/place'
local source = require 'jobs/source'
local line = require 'jobs/line'
local first_place = require 'jobs/first_place'
local take = require 'jobs/take'
local resume = require 'jobs/resume'
local route = require 'jobs/route'
local routing = require 'jobs/routing'
local STATES, WAITING, RESERVED = record.STATES, record.WAITING, record.RESERVED

-- The reply if the caller holds the job already.
local function held_by(q, call, id, r)
  if not r or r.state ~= RESERVED or call.worker == '' then return end
  local lease = record.lease(r.lease)
  if lease.worker == call.worker and not record.is_marked(lease, record.CLOSING) then return resume.one(q, call, {id = id, record = r, lease = lease}) end
end

-- Finds the first job of a priority that stands before this one and so was passed over.
local function first_but(job)
  return function(q, priority)
    local at, member = first_place.at(q, priority)
    return member ~= job.member and at or nil
  end
end

local function take_from_line(q, call, raw, live, r)
  local id = call.id
  local own = r or place.unseen(q, id, record.header(raw))
  local member = place.member(id, own.arrival)
  local job = take.look_at(q, call, source.entry(id, own.score, member, member, raw, live))
  local full = job.full
  local stays = full and routing.lines(q, id, job.header)
  if not stays then line.drop_id(q, id) end
  if not full then return {'new', take.job(q, job, call, 1, first_but(job))} end
  if not stays then take.block(q, job) end
  return {'state', STATES[record.BLOCKED]}
end

local function answer(q, call, mine)
  local id, d = call.id, q.context
  local raw = write.ask(q, 'HGET', q.jobs, id)
  local header = raw and record.header(raw)
  if not header or record.is_alias(header) then return {'unknown'} end
  local live = write.ask(q, 'HGET', q.live, id)
  local r = live and record.live(live)
  local held = held_by(q, call, id, r)
  if held then return held end
  if route.is_over_in(q, id, header, r and r.state or WAITING) then return {'state', STATES[record.CANCELLED]} end
  if r and r.state ~= WAITING then return {'state', STATES[r.state]} end
  local rule = routing.rule(q, id, header, call.worker, call.skills)
  if rule then return {'ineligible', rule} end
  if d.is_paused then return {'paused'} end
  if call.worker ~= '' and d.worker_limit > 0 and #mine >= d.worker_limit then return {'limit'} end
  return take_from_line(q, call, raw, live, r)
end

return function(q, call, mine)
  local given = answer(q, call, mine)
  q.served.mine = {} -- the records were read again
  return given
end
