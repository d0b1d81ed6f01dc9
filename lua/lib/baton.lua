-- baton: who is parked at a gate, and comes back into line. A script that parks a job or puts one back knows it from then
-- on, and writes it at the end: where each of them stands then is what was said last.
-- USES   write record place batch hint gate
-- KEYS   inbound zset · parked zset · jobs hash · live hash
local put_back -- told of each job that comes back into line
local enter_line, leave_line, park, unpark, first_parked, foresee_parked, pass_baton, pass_batons, free_gates, line_up

-- Within a block of its own: a script has room for 200 names.
do
  local stands, is_parked, moved = {}, {}, {} -- member -> place or false; member -> true or false; which of them moved
  local at_gate, knows_all = {}, nil
  local MANY, FEW = 50, 100

  local into_line, from_line = begin('ZADD', inbound), begin('ZREM', inbound)
  local to_gate, from_gate = begin('ZADD', parked), begin('ZREM', parked)
  gather(function()
    for member in pairs(moved) do
      local place, waits = stands[member], is_parked[member]
      if place then add(into_line, place, member) elseif place == false then add(from_line, member) end
      if waits then add(to_gate, 0, member) elseif waits == false then add(from_gate, member) end
    end
    moved = {}
  end)

  function enter_line(id, r)
    local member = in_line(id, r.arrival)
    stands[member], moved[member] = r.score, true
  end

  function leave_line(id, r)
    local member = in_line(id, r.arrival)
    stands[member], moved[member] = false, true
  end

  local function parked_member(id, r)
    return r.gate .. '\0' .. string.format('%016x', r.score) .. '\0' .. in_line(id, r.arrival)
  end

  -- Where a member is parked.
  local function gate_in(member)
    return member:sub(1, member:byte() == 0 and 27 or member:find('\0', 1, true) - 1)
  end

  -- Few are read at once, whatever their gates.
  local function read_few()
    knows_all = ask('ZCARD', parked) <= FEW
    if not knows_all then return end
    for _, member in ipairs(ask('ZRANGE', parked, 0, -1)) do
      local gate = gate_in(member)
      local those = at_gate[gate] or {first = 1, ends = true, came = {}}
      at_gate[gate], those[#those + 1] = those, member
    end
  end

  -- Those that are parked at a gate: what was read of them, first to last; whether there are no more; who came since.
  local function those_at(gate)
    if knows_all == nil then read_few() end
    local those = at_gate[gate]
    if not those then
      those = {first = 1, ends = knows_all, came = {}}
      at_gate[gate] = those
    end
    return those
  end

  local function read_parked(gate, those, most)
    local from = #those > 0 and '(' .. those[#those] or '[' .. gate .. '\0'
    local members = ask('ZRANGE', parked, from, '(' .. gate .. '\1', 'BYLEX', 'LIMIT', 0, most)
    for _, member in ipairs(members) do those[#those + 1] = member end
    those.ends = #members < most
  end

  function park(id, r, header, gate)
    enter(id, r, header, BLOCKED)
    r.gate = gate
    local member = parked_member(id, r)
    is_parked[member], moved[member], those_at(gate).came[member] = true, true, true
    local job = in_hand[id]
    if job then job.record = r else in_hand[id] = {record = r, header = header} end
    keep(id, r)
  end

  local function leave_gate(gate, member)
    is_parked[member], moved[member], those_at(gate).came[member] = false, true, nil
  end

  function unpark(id, r)
    leave_gate(r.gate, parked_member(id, r))
    r.gate = ''
  end

  -- As Redis sorts them, byte by byte, whatever the language of its machine. Both begin with the gate.
  local function sorts_before(a, b, gate)
    local at = #gate + 1
    while at <= #a and a:byte(at) == b:byte(at) do at = at + 1 end
    return (a:byte(at) or -1) < (b:byte(at) or -1)
  end

  function first_parked(gate)
    local those = those_at(gate)
    while true do
      local first = those[those.first]
      if first and is_parked[first] == false then
        those.first = those.first + 1
      elseif first or those.ends then
        break
      else
        read_parked(gate, those, #those == 0 and 1 or MANY)
      end
    end
    local first = those[those.first]
    for member in pairs(those.came) do
      if not first or sorts_before(member, first, gate) then first = member end
    end
    return first
  end

  -- The jobs that stand first at a gate, read at once.
  function foresee_parked(gate, most)
    local those, ids = those_at(gate), {}
    if not those.ends then read_parked(gate, those, most) end
    for _, member in ipairs(those) do
      if not in_hand[id_of(member)] then ids[#ids + 1] = id_of(member) end
    end
    if #ids == 0 then return end
    local records, headers = ask('HMGET', live, unpack(ids)), ask('HMGET', jobs, unpack(ids))
    for i, id in ipairs(ids) do
      if records[i] and headers[i] then
        in_hand[id] = {record = read_live(records[i]), header = read_header(headers[i])}
      end
    end
  end

  -- The job that stands for a member of `parked`; nil when there is none.
  local function job_of(member)
    local id = id_of(member)
    local job = in_hand[id]
    if not job then
      local raw, header = ask('HGET', live, id), ask('HGET', jobs, id)
      if not raw or not header then return end
      job = {record = read_live(raw), header = read_header(header)}
      in_hand[id] = job
    end
    if job.record.state == BLOCKED then return job, id end
  end

  -- The baton: the first job parked at a gate with room goes back to its place in line. Answers whether there was one.
  function pass_baton(gate)
    if not has_room(gate) then return false end
    local first = first_parked(gate)
    while first do
      local job, id = job_of(first)
      if job then
        local r = job.record
        unpark(id, r)
        enter(id, r, job.header, WAITING)
        enter_line(id, r)
        became_ready(1)
        keep(id, r)
        if put_back then put_back(id, r, job.header) end
        return true
      end
      leave_gate(gate, first) -- nobody stands there
      first = first_parked(gate)
    end
    return false
  end

  -- A job leaves inbound and is not reserved.
  function pass_batons(id, header)
    for _, gate in ipairs(gates_of(id, header)) do pass_baton(gate) end
  end

  -- A reservation has ended: a unit back at each gate, then the batons, before the job itself is placed.
  function free_gates(id, header)
    for _, gate in ipairs(gates_of(id, header)) do
      if not is_lock(gate) then
        use_unit(gate, -1)
      elseif use_of(gate) == id then
        set_use(gate, false)
      end
    end
    pass_batons(id, header)
  end

  -- A job is ready: it goes to its place in line, or is parked at its first gate without room.
  function line_up(id, r, header)
    local gate = full_gate(id, header)
    if gate then return park(id, r, header, gate) end
    enter(id, r, header, WAITING)
    enter_line(id, r)
    became_ready(1)
    keep(id, r)
  end
end
