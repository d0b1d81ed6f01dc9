-- parking: positions in line and at gates as the call sees them: as read, with its own changes.
local text = require 'base/text'
local write = require 'base/write'
local place = require 'jobs/place'
local parking = {}
local byte, sub, format = string.byte, string.sub, string.format
local insert, remove, floor = table.insert, table.remove, math.floor
local MANY, FEW = 50, 100
local LINES = {'inbound', 'restricted', 'lines'}

local function write_places(q)
  local state = q.parking
  for _, key in ipairs(LINES) do
    for member, score in pairs(state[key]) do
      if score then write.add(q, key, text.of(score), member) else write.remove(q, key, member) end
    end
    state[key] = {}
  end
  for member in pairs(state.moved) do
    if state.is_parked[member] then write.add(q, 'parked', '0', member) else write.remove(q, 'parked', member) end
  end
  state.moved = {}
end

-- `inbound`, `restricted`, `lines`: member -> its score there or false, if this call has changed it; `is_parked`: by member; `moved`:
-- those whose parking has changed; `at_gate`: gate -> the members parked there.
local function state_of(q)
  local state = q.parking
  if not state then
    state = {inbound = {}, restricted = {}, lines = {}, is_parked = {}, moved = {}, at_gate = {}, knows_all = nil}
    q.parking = state
    write.at_flush(q, write_places)
  end
  return state
end

-- Sets the score in `inbound`, `restricted` or `lines`; false removes the member.
function parking.set_score(q, key, member, score)
  state_of(q)[key][member] = score
end

-- The member of a job that is parked at its gate: that in `inbound` follows its score.
function parking.member(id, r)
  return r.gate .. '\0' .. format('%016x', r.score) .. '\0' .. place.member(id, r.arrival)
end

-- The gate of a parked member; a batch's code follows a NUL.
local function gate_in(member)
  return sub(member, 1, byte(member) == 0 and $ID_LEN + 1 or string.find(member, '\0', 1, true) - 1)
end

-- Reads all parked members if they are few.
local function read_few(q, state)
  state.knows_all = write.ask(q, 'ZCARD', q.parked) <= FEW
  if not state.knows_all then return end
  for _, member in ipairs(write.ask(q, 'ZRANGE', q.parked, '0', '-1')) do
    local name = gate_in(member)
    local parked = state.at_gate[name] or {first = 1, ends = true, added = {}}
    state.at_gate[name], parked[#parked + 1] = parked, member
  end
end

-- The members parked at a gate: as read, in order; `ends`: all are read; `added`: parked by this call, in order.
local function parked_at(q, name)
  local state = state_of(q)
  if state.knows_all == nil then read_few(q, state) end
  local parked = state.at_gate[name]
  if not parked then
    parked = {first = 1, ends = state.knows_all, added = {}}
    state.at_gate[name] = parked
  end
  return parked
end

local function read_on(q, name, parked, limit)
  local from = #parked > 0 and '(' .. parked[#parked] or '[' .. name .. '\0'
  local members = write.ask(q, 'ZRANGE', q.parked, from, '(' .. name .. '\1', 'BYLEX', 'LIMIT', '0', text.of(limit))
  for _, member in ipairs(members) do parked[#parked + 1] = member end
  parked.ends = #members < limit
end

-- The byte order of Redis, independent of the locale. Both begin with the gate.
local function sorts_before(a, b, name)
  local at = #name + 1
  while at <= #a and byte(a, at) == byte(b, at) do at = at + 1 end
  return (byte(a, at) or -1) < (byte(b, at) or -1)
end

-- Where a member stands among those that are in order, or would stand.
local function find(members, member, name)
  local from, to = 1, #members + 1
  while from < to do
    local middle = floor((from + to) / 2)
    if sorts_before(members[middle], member, name) then from = middle + 1 else to = middle end
  end
  return from
end

-- Says whether a member is parked at a gate, by this call.
local function move(q, name, member, is_parked)
  local state, added = state_of(q), parked_at(q, name).added
  state.is_parked[member], state.moved[member] = is_parked, true
  local at = find(added, member, name)
  local is_there = added[at] == member
  if is_parked and not is_there then insert(added, at, member) end
  if is_there and not is_parked then remove(added, at) end
end

function parking.add(q, name, member)
  move(q, name, member, true)
end

function parking.remove(q, name, member)
  move(q, name, member, false)
end

-- The first member that is parked at a gate; nil for none.
function parking.first(q, name)
  local parked, is_parked = parked_at(q, name), state_of(q).is_parked
  while true do
    local first = parked[parked.first]
    if first and is_parked[first] == false then
      parked.first = parked.first + 1
    elseif first or parked.ends then
      break
    else
      read_on(q, name, parked, #parked == 0 and 1 or MANY)
    end
  end
  local first, added = parked[parked.first], parked.added[1]
  return added and (not first or sorts_before(added, first, name)) and added or first
end

-- The ids of the members read at a gate, of which at least `limit` are read if there are.
function parking.ids_at(q, name, limit)
  local parked, ids = parked_at(q, name), {}
  if not parked.ends then read_on(q, name, parked, limit) end
  for i, member in ipairs(parked) do ids[i] = place.id_of(member) end
  return ids
end

return parking
