-- gate: a lock or a batch limit, a name with a capacity. A job is reserved only if each of its gates has room; a job that meets a
-- full gate is parked there. Invariant after every step: either no job is parked at a gate, or `inbound` holds at least as many
-- jobs that need it as it has room. The baton keeps that.
-- Changes stay in the state of the call, where the next job of its list sees them, and are written at its end.
local record = require 'base/record'
local write = require 'base/write'
local batch = require 'base/batch'
local gate = {USE = '>I4I4'} -- how many units of a batch's limit are in use, and how many there are
local unpack, unpack_record, pack = unpack, struct.unpack, struct.pack

-- Writes a job's live record.
function gate.keep(q, id, r)
  write.set(q, 'live', id, record.pack(r))
end

local function write_uses(q)
  for name in pairs(q.gate.moved) do
    local use = q.gate.uses[name]
    if use then write.set(q, 'gates', name, use) else write.delete(q, 'gates', name) end
  end
  q.gate.moved = {}
end

-- Gate -> its value or false; the gates that this call has changed.
local function state_of(q)
  local state = q.gate
  if not state then
    state = {uses = {}, moved = {}}
    q.gate = state
    write.at_flush(q, write_uses)
  end
  return state
end

-- A lock is its name; a batch is its code after a NUL, which no name holds.
function gate.names_of(id, header)
  local names = header.locks or {}
  if record.is_member(header) then names = {'\0' .. batch.of(id), unpack(names)} end
  return names
end

function gate.is_lock(name)
  return name:byte() ~= 0
end

-- Loads the gates of many jobs, {id, header} each or false, with one read.
function gate.prefetch(q, those)
  local uses, names = state_of(q).uses, {}
  for _, job in ipairs(those) do
    for _, name in ipairs(job and gate.names_of(job.id, job.header) or {}) do
      if uses[name] == nil then
        uses[name] = false
        names[#names + 1] = name
      end
    end
  end
  if #names == 0 then return end
  for i, use in ipairs(write.ask(q, 'HMGET', q.gates, unpack(names))) do uses[names[i]] = use end
end

function gate.use_of(q, name)
  local uses = state_of(q).uses
  if uses[name] == nil then uses[name] = write.ask(q, 'HGET', q.gates, name) end
  return uses[name]
end

-- `use` is false for a gate that is no longer needed.
function gate.set_use(q, name, use)
  local state = state_of(q)
  state.uses[name], state.moved[name] = use, true
end

-- A free lock has no field, nor has a batch without a limit.
function gate.has_room(q, name)
  local use = gate.use_of(q, name)
  if not use then return true end
  if gate.is_lock(name) then return false end
  local used, capacity = unpack_record(gate.USE, use)
  return used < capacity
end

-- The first of a job's gates without room; nil if all have room.
function gate.full(q, id, header)
  if not record.is_gated(header) then return end
  for _, name in ipairs(gate.names_of(id, header)) do
    if not gate.has_room(q, name) then return name end
  end
end

-- Takes or returns a unit of a batch's limit, if it has one.
function gate.use_unit(q, name, by)
  local use = gate.use_of(q, name)
  if not use then return end
  local used, capacity = unpack_record(gate.USE, use)
  gate.set_use(q, name, pack(gate.USE, used + by, capacity))
end

function gate.occupy(q, id, header)
  for _, name in ipairs(gate.names_of(id, header)) do
    if gate.is_lock(name) then gate.set_use(q, name, id) else gate.use_unit(q, name, 1) end
  end
end

return gate
