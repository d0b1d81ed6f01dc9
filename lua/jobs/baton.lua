-- baton: who is parked at a gate, and comes back into line. A call that parks a job or puts one back knows it from then
-- on, and writes it at the end: where each of them stands then is what was said last.
local record = require 'base/record'
local hint = require 'base/hint'
local batch = require 'base/batch'
local place = require 'jobs/place'
local gate = require 'jobs/gate'
local known = require 'jobs/known'
local parking = require 'jobs/parking'
local baton = {}
local WAITING, BLOCKED = record.WAITING, record.BLOCKED

function baton.enter_line(q, id, r)
  parking.stand(q, place.member(id, r.arrival), r.score)
end

function baton.leave_line(q, id, r)
  parking.stand(q, place.member(id, r.arrival), false)
end

function baton.park(q, id, r, header, name)
  batch.enter(q, id, r, header, BLOCKED)
  r.gate = name
  parking.come(q, name, parking.member(id, r))
  known.note(q, id, r, header)
  gate.keep(q, id, r)
end

function baton.unpark(q, id, r)
  parking.go(q, r.gate, parking.member(id, r))
  r.gate = ''
end

-- The jobs that stand first at a gate, read at once.
function baton.foresee(q, name, most)
  known.read(q, parking.ids_at(q, name, most))
end

-- The first job parked at a gate with room goes back to its place in line. Answers whether there was one.
function baton.pass(q, name)
  if not gate.has_room(q, name) then return false end
  local first = parking.first(q, name)
  while first do
    local id = place.id_of(first)
    local job = known.job(q, id)
    if job and job.record.state == BLOCKED then
      local r = job.record
      baton.unpark(q, id, r)
      batch.enter(q, id, r, job.header, WAITING)
      baton.enter_line(q, id, r)
      hint.became_ready(q, 1)
      gate.keep(q, id, r)
      if q.put_back then q.put_back(q, id, r, job.header) end
      return true
    end
    parking.go(q, name, first) -- nobody stands there
    first = parking.first(q, name)
  end
  return false
end

-- A job leaves inbound and is not reserved.
function baton.pass_all(q, id, header)
  for _, name in ipairs(gate.names_of(id, header)) do baton.pass(q, name) end
end

-- A reservation has ended: a unit back at each gate, then the batons, before the job itself is placed.
function baton.free_gates(q, id, header)
  for _, name in ipairs(gate.names_of(id, header)) do
    if not gate.is_lock(name) then
      gate.use_unit(q, name, -1)
    elseif gate.use_of(q, name) == id then
      gate.set_use(q, name, false)
    end
  end
  baton.pass_all(q, id, header)
end

-- A job is ready: it goes to its place in line, or is parked at its first gate without room.
function baton.line_up(q, id, r, header)
  local name = gate.full(q, id, header)
  if name then return baton.park(q, id, r, header, name) end
  batch.enter(q, id, r, header, WAITING)
  baton.enter_line(q, id, r)
  hint.became_ready(q, 1)
  gate.keep(q, id, r)
end

return baton
