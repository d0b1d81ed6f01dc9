-- gate: locks and batch limits are one thing, a name with a capacity. A job is reserved only if each of its gates has
-- room. Jobs that met a full one are parked there. After every step nothing is parked at a gate, or inbound holds at
-- least as many jobs that need it as it has room; one act keeps that, the baton.
-- What happens to such a job is written at once: the next one of a list may meet it again.
-- USES   write record place batch hint
-- KEYS   inbound zset · parked zset · jobs hash · live hash · gates hash
local keep_live = begin('HSET', live)
local in_hand = {} -- id -> {record, header} that a script has read: the baton finds the same ones
local put_back     -- told of each job that the baton moved

local function is_gated(header)
  return bit.band(header.flags, LOCKS + MEMBER) ~= 0
end

-- A job's live record as it is now.
local function keep(id, r, header)
  if is_gated(header) then redis.call('HSET', live, id, pack_live(r)) else add(keep_live, id, pack_live(r)) end
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

-- A lock that nobody holds is not there; nor is a batch without a limit.
local function has_room(gate)
  local use = redis.call('HGET', gates, gate)
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
  local use = redis.call('HGET', gates, gate)
  if not use then return end
  local used, capacity = struct.unpack('>I4I4', use)
  redis.call('HSET', gates, gate, struct.pack('>I4I4', used + by, capacity))
end

local function occupy(id, header)
  for _, gate in ipairs(gates_of(id, header)) do
    if is_lock(gate) then redis.call('HSET', gates, gate, id) else use_unit(gate, 1) end
  end
end

local function parked_member(id, r)
  return r.gate .. '\0' .. string.format('%016x', r.score) .. '\0' .. in_line(id, r.arrival)
end

local function park(id, r, header, gate)
  enter(id, r, header, BLOCKED)
  r.gate = gate
  redis.call('ZADD', parked, 0, parked_member(id, r))
  keep(id, r, header)
end

local function unpark(id, r)
  redis.call('ZREM', parked, parked_member(id, r))
  r.gate = ''
end

local function first_parked(gate)
  return redis.call('ZRANGE', parked, '[' .. gate .. '\0', '(' .. gate .. '\1', 'BYLEX', 'LIMIT', 0, 1)[1]
end

-- The baton: the first job parked at a gate with room goes back to its place in line. Answers whether there was one.
local function pass_baton(gate)
  local first = has_room(gate) and first_parked(gate)
  if not first then return false end
  local id = id_of(first)
  local job = in_hand[id] or {record = read_live(redis.call('HGET', live, id))}
  local raw = redis.call('HGET', jobs, id)
  local r, header = job.record, read_header(raw)
  unpark(id, r)
  enter(id, r, header, WAITING)
  redis.call('ZADD', inbound, r.score, in_line(id, r.arrival))
  became_ready(1)
  keep(id, r, header)
  if put_back then put_back(id, r, raw) end
  return true
end

-- A job leaves inbound and is not reserved.
local function pass_batons(id, header)
  for _, gate in ipairs(gates_of(id, header)) do pass_baton(gate) end
end

-- A reservation has ended: a unit back at each gate, then the batons, before the job itself is placed.
local function free_gates(id, header)
  for _, gate in ipairs(gates_of(id, header)) do
    if not is_lock(gate) then
      use_unit(gate, -1)
    elseif redis.call('HGET', gates, gate) == id then
      redis.call('HDEL', gates, gate)
    end
  end
  pass_batons(id, header)
end

-- A job is ready: it goes to its place in line, or is parked at its first gate without room.
local function line_up(id, r, header)
  local gate = full_gate(id, header)
  if gate then return park(id, r, header, gate) end
  enter(id, r, header, WAITING)
  redis.call('ZADD', inbound, r.score, in_line(id, r.arrival))
  became_ready(1)
  keep(id, r, header)
end
