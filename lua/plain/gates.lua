-- gates: the locks of a list's jobs, for the plain paths, while nobody is in anybody's way. It is opened for a list that needs
-- any; what is kept here between calls is room.
local patch = require 'base/patch'
local fields_of = require 'plain/fields'
local gates = {}
local call, unpack = redis.call, unpack
local NOBODY = {}
-- So many may each ask who stands at it.
local MOST_ASKED = 50
-- Each lock, and whose it is.
local n, names, owners, met, one = 0, {}, {}, {}, {}
local to_gates, from_gates = {'HSET'}, {'HDEL'}

function gates.open()
  n, met = 0, {}
  return true
end

-- A job's; `flags` and `at` as in patch.parts. Answers whether no other job of the list has one of them.
function gates.note(id, raw, flags, at)
  local is_alone = true
  for _, name in ipairs(patch.locks(raw, flags, at)) do
    n = n + 1
    names[n], owners[n], is_alone = name, id, is_alone and not met[name]
    met[name] = true
  end
  return is_alone
end

local function are_had_by(q, whose)
  local held = fields_of(q.gates, names, 1, n, one)
  for i = 1, n do
    if held[i] ~= (whose[i] or false) then return false end
  end
  return true
end

function gates.are_free(q)
  return are_had_by(q, NOBODY)
end

local function is_awaited(q)
  if call('EXISTS', q.parked) == 0 then return false end
  if n > MOST_ASKED then return true end
  for i = 1, n do
    if call('ZLEXCOUNT', q.parked, '[' .. names[i] .. '\0', '(' .. names[i] .. '\1') > 0 then return true end
  end
  return false
end

-- Each is had by its job, and nobody stands there.
function gates.may_go(q)
  return are_had_by(q, owners) and not is_awaited(q)
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
