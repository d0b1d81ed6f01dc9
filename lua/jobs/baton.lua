-- baton: parks jobs at gates and puts them back into line. The state of the call holds the latest position of each job, and the
-- end of the call writes it.
local record = require 'base/record'
local clock = require 'base/clock'
local batch = require 'base/batch'
local place = require 'jobs/place'
local gate = require 'jobs/gate'
local loaded = require 'jobs/loaded'
local parking = require 'jobs/parking'
local lines = require 'jobs/lines'
local routing = require 'jobs/routing'
local baton = {}
local WAITING, BLOCKED = record.WAITING, record.BLOCKED

function baton.park(q, id, r, header, name)
  batch.enter(q, id, r, header, BLOCKED)
  r.gate = name
  parking.add(q, name, parking.member(id, r))
  loaded.note(q, id, r, header)
  gate.keep(q, id, r)
end

function baton.unpark(q, id, r)
  parking.remove(q, r.gate, parking.member(id, r))
  r.gate = ''
end

-- Loads the first jobs at a gate with one read.
function baton.prefetch(q, name, limit)
  loaded.read(q, parking.ids_at(q, name, limit))
end

-- Puts the first job that is parked at a gate with room back into line. Returns whether there was one.
function baton.pass(q, name)
  if not gate.has_room(q, name) then return false end
  local first = parking.first(q, name)
  while first do
    local id = place.id_of(first)
    local job = loaded.job(q, id)
    if job and job.record.state == BLOCKED then
      local r = job.record
      baton.unpark(q, id, r)
      batch.enter(q, id, r, job.header, WAITING)
      lines.announce(q, lines.enter(q, id, r, job.header))
      gate.keep(q, id, r)
      if q.put_back then q.put_back(q, id, r, job.header) end
      return true
    end
    parking.remove(q, name, first) -- the job is gone
    first = parking.first(q, name)
  end
  return false
end

-- Passes the batons of a job that leaves the line without being reserved.
function baton.pass_all(q, id, header)
  for _, name in ipairs(gate.names_of(id, header)) do baton.pass(q, name) end
end

-- Frees the gates of a reservation that has ended and passes their batons, before the job itself is placed.
function baton.free_gates(q, id, header)
  local names = gate.names_of(id, header)
  for _, name in ipairs(names) do
    if not gate.is_lock(name) then
      gate.use_unit(q, name, -1)
    elseif gate.use_of(q, name) == id then
      gate.set_use(q, name, false)
    end
  end
  baton.pass_all(q, id, header)
  lines.gates_opened(q, names)
end

-- A job that waits leaves its line unreserved.
function baton.step_out(q, id, r, header)
  lines.leave(q, id, r, header)
  if not routing.lines(q, id, header) then baton.pass_all(q, id, header) end
end

-- Puts a ready job at its place in line, or parks it at its first gate without room if it is for everybody.
function baton.line_up(q, id, r, header)
  routing.ready(q, id, header, clock.now(q))
  local name = not routing.lines(q, id, header) and gate.full(q, id, header)
  if name then return baton.park(q, id, r, header, name) end
  batch.enter(q, id, r, header, WAITING)
  lines.announce(q, lines.enter(q, id, r, header))
  gate.keep(q, id, r)
end

return baton
