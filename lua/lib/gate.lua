-- gate: locks and batch limits are one thing, a name with a capacity. A job is reserved only if each of its gates has
-- room. Jobs that met a full one are parked there. After every step nothing is parked at a gate, or inbound holds at
-- least as many jobs that need it as it has room; one act keeps that, the baton.
-- What a script changes here it knows from then on: the next job of its list meets it, and it is written at the end.
-- USES   write record batch
-- KEYS   live hash · gates hash
local keep_live = begin('HSET', live)
local in_hand = {} -- id -> {record, header} that a script has read: the baton finds the same ones
local uses, uses_moved = {}, {} -- gate -> what it holds or false; which of them this script has changed

local function is_gated(header)
  return bit.band(header.flags, LOCKS + MEMBER) ~= 0
end

-- A job's live record as it is now.
local function keep(id, r)
  add(keep_live, id, pack_live(r))
end

-- A lock is its name; a batch is its code after a NUL, which no name holds.
local function gates_of(id, header)
  local names = header.locks or {}
  if is_member(header) then names = {'\0' .. batch_of(id), unpack(names)} end
  return names
end

local function is_lock(gate)
  return gate:byte() ~= 0
end

-- The gates of many jobs at once, {id, header} each or false.
local function foresee_gates(those)
  local names = {}
  for _, job in ipairs(those) do
    for _, gate in ipairs(job and gates_of(job.id, job.header) or {}) do
      if uses[gate] == nil then
        uses[gate] = false
        names[#names + 1] = gate
      end
    end
  end
  if #names == 0 then return end
  for i, use in ipairs(ask('HMGET', gates, unpack(names))) do uses[names[i]] = use end
end

local function use_of(gate)
  if uses[gate] == nil then uses[gate] = ask('HGET', gates, gate) end
  return uses[gate]
end

-- `use` is false for a gate that nobody needs.
local function set_use(gate, use)
  uses[gate], uses_moved[gate] = use, true
end

-- A lock that nobody holds is not there; nor is a batch without a limit.
local function has_room(gate)
  local use = use_of(gate)
  if not use then return true end
  if is_lock(gate) then return false end
  local used, capacity = struct.unpack('>I4I4', use)
  return used < capacity
end

local function full_gate(id, header)
  for _, gate in ipairs(gates_of(id, header)) do
    if not has_room(gate) then return gate end
  end
end

-- One unit of a batch's limit, if it has one.
local function use_unit(gate, by)
  local use = use_of(gate)
  if not use then return end
  local used, capacity = struct.unpack('>I4I4', use)
  set_use(gate, struct.pack('>I4I4', used + by, capacity))
end

local function occupy(id, header)
  for _, gate in ipairs(gates_of(id, header)) do
    if is_lock(gate) then set_use(gate, id) else use_unit(gate, 1) end
  end
end

local keep_gates, drop_gates = begin('HSET', gates), begin('HDEL', gates)
gather(function()
  for gate in pairs(uses_moved) do
    if uses[gate] then add(keep_gates, gate, uses[gate]) else add(drop_gates, gate) end
  end
  uses_moved = {}
end)
