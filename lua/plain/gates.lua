-- gates: the list form of jobs/gate for locks: takes and frees those of a list of jobs while no other job waits for them. The tables
-- are reused between calls.
local record_bytes = require 'base/record_bytes'
local fields_of = require 'plain/fields'
local gates = {}
local call, unpack = redis.call, unpack
local NO_OWNERS = {}
-- With more locks than this, a parked job anywhere makes the list unusual: one look-up per lock would cost too much.
local MOST_ASKED = 50
-- The locks of the list, and their jobs.
local n, names, owners, met, one = 0, {}, {}, {}, {}
local to_gates, from_gates = {'HSET'}, {'HDEL'}

function gates.open()
  n, met = 0, {}
  return true
end

-- Adds a job's locks; `flags` and `at` as in record_bytes.parts. Returns false if the list has one of them already.
function gates.note(id, raw, flags, at)
  local is_unique = true
  for _, name in ipairs(record_bytes.locks(raw, flags, at)) do
    n = n + 1
    names[n], owners[n], is_unique = name, id, is_unique and not met[name]
    met[name] = true
  end
  return is_unique
end

local function have_owners(q, expected)
  local held = fields_of(q.gates, names, 1, n, one)
  for i = 1, n do
    if held[i] ~= (expected[i] or false) then return false end
  end
  return true
end

function gates.are_free(q)
  return have_owners(q, NO_OWNERS)
end

local function is_awaited(q)
  if call('EXISTS', q.parked) == 0 then return false end
  if n > MOST_ASKED then return true end
  for i = 1, n do
    if call('ZLEXCOUNT', q.parked, '[' .. names[i] .. '\0', '(' .. names[i] .. '\1') > 0 then return true end
  end
  return false
end

-- Each lock is held by its job, and no job is parked there.
function gates.may_go(q)
  return have_owners(q, owners) and not is_awaited(q)
end

function gates.take(q)
  to_gates[2] = q.gates
  for i = 1, n do to_gates[i * 2 + 1], to_gates[i * 2 + 2] = names[i], owners[i] end
  call(unpack(to_gates, 1, n * 2 + 2))
end

function gates.leave(q)
  from_gates[2] = q.gates
  for i = 1, n do from_gates[i + 2] = names[i] end
  call(unpack(from_gates, 1, n + 2))
end

return gates
