-- parking: who stands where, in line or at a gate, as a call knows it: what was read, and what it has said since.
local text = require 'base/text'
local write = require 'base/write'
local place = require 'jobs/place'
local parking = {}
local byte, sub, find, format = string.byte, string.sub, string.find, string.format
local MANY, FEW = 50, 100

local function write_places(q)
  local state = q.parking
  for member in pairs(state.moved) do
    local score, waits = state.stands[member], state.is_parked[member]
    if score then write.add(q, 'inbound', text.of(score), member) elseif score == false then write.remove(q, 'inbound', member) end
    if waits then write.add(q, 'parked', '0', member) elseif waits == false then write.remove(q, 'parked', member) end
  end
  state.moved = {}
end

-- Member -> its place in line, or false; member -> whether it is parked; which of them moved. Gate -> who is parked there.
local function state_of(q)
  local state = q.parking
  if not state then
    state = {stands = {}, is_parked = {}, moved = {}, at_gate = {}, knows_all = nil}
    q.parking = state
    write.gather(q, write_places)
  end
  return state
end

-- In line at this place, or (false) not any more.
function parking.stand(q, member, score)
  local state = state_of(q)
  state.stands[member], state.moved[member] = score, true
end

-- A job, as it stands at the gate where it is parked.
function parking.member(id, r)
  return r.gate .. '\0' .. format('%016x', r.score) .. '\0' .. place.member(id, r.arrival)
end

-- Where a member is parked: a batch's code follows a NUL.
local function gate_in(member)
  return sub(member, 1, byte(member) == 0 and 27 or find(member, '\0', 1, true) - 1)
end

-- Few are read at once, whatever their gates.
local function read_few(q, state)
  state.knows_all = write.ask(q, 'ZCARD', q.parked) <= FEW
  if not state.knows_all then return end
  for _, member in ipairs(write.ask(q, 'ZRANGE', q.parked, '0', '-1')) do
    local name = gate_in(member)
    local those = state.at_gate[name] or {first = 1, ends = true, came = {}}
    state.at_gate[name], those[#those + 1] = those, member
  end
end

-- Those that are parked at a gate: what was read of them, first to last; whether there are no more; who came since.
local function those_at(q, name)
  local state = state_of(q)
  if state.knows_all == nil then read_few(q, state) end
  local those = state.at_gate[name]
  if not those then
    those = {first = 1, ends = state.knows_all, came = {}}
    state.at_gate[name] = those
  end
  return those
end

local function read_on(q, name, those, most)
  local from = #those > 0 and '(' .. those[#those] or '[' .. name .. '\0'
  local members = write.ask(q, 'ZRANGE', q.parked, from, '(' .. name .. '\1', 'BYLEX', 'LIMIT', '0', text.of(most))
  for _, member in ipairs(members) do those[#those + 1] = member end
  those.ends = #members < most
end

function parking.come(q, name, member)
  local state = state_of(q)
  state.is_parked[member], state.moved[member], those_at(q, name).came[member] = true, true, true
end

function parking.go(q, name, member)
  local state = state_of(q)
  state.is_parked[member], state.moved[member], those_at(q, name).came[member] = false, true, nil
end

-- As Redis sorts them, byte by byte, whatever the language of its machine. Both begin with the gate.
local function sorts_before(a, b, name)
  local at = #name + 1
  while at <= #a and byte(a, at) == byte(b, at) do at = at + 1 end
  return (byte(a, at) or -1) < (byte(b, at) or -1)
end

-- The first member that is parked at a gate; nil for none.
function parking.first(q, name)
  local those, is_parked = those_at(q, name), state_of(q).is_parked
  while true do
    local first = those[those.first]
    if first and is_parked[first] == false then
      those.first = those.first + 1
    elseif first or those.ends then
      break
    else
      read_on(q, name, those, #those == 0 and 1 or MANY)
    end
  end
  local first = those[those.first]
  for member in pairs(those.came) do
    if not first or sorts_before(member, first, name) then first = member end
  end
  return first
end

-- The jobs of those that were read at a gate; at least as many as `most` are read, if there are.
function parking.ids_at(q, name, most)
  local those, ids = those_at(q, name), {}
  if not those.ends then read_on(q, name, those, most) end
  for i, member in ipairs(those) do ids[i] = place.id_of(member) end
  return ids
end

return parking
