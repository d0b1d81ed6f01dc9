-- store: a new job, as enqueue and append write it.
-- USES   clock write stamp record place batch gate baton order event total
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · parked zset · jobs hash · payloads hash
local write_jobs, write_payloads = begin('HSET', jobs), begin('HSET', payloads)
local new_to_inbound, new_to_delayed = begin('ZADD', inbound), begin('ZADD', delayed)

-- How many more jobs `max_jobs` allows; those that have ended do not count, the dead do.
local function room_left(max_jobs)
  local room = tonumber(max_jobs or $MAX_JOBS)
  if room == 0 then return math.huge end
  for _, key in ipairs({inbound, parked, delayed, reserved, dead}) do room = room - redis.call('ZCARD', key) end
  return room
end

-- The gates of the locks that are in what the service has packed.
local function foresee_locks(packed)
  local those = {}
  for _, job in ipairs(packed) do
    if bit.band(job.flags, LOCKS) ~= 0 then
      those[#those + 1] = {id = job.id, header = read_header(struct.pack('>BI6I2B', LAYOUT, 0, job.flags, 0) .. job.rest)}
    end
  end
  foresee_gates(those)
end

-- Where a new job goes. Most have no gate, and no live record until somebody has them.
local function first_place(id, record, flags, priority, client, due, arrival)
  local header = bit.band(flags, LOCKS + MEMBER) ~= 0 and read_header(record)
  if header and is_member(header) then count_move(id, nil, WAITING) end
  if due > now then
    local r = new_live(WAITING, -1, priority, arrival)
    enter(id, r, header or {flags = 0}, DELAYED)
    add(new_to_delayed, due, id)
    add(keep_live, id, pack_live(r))
    return DELAYED
  end
  local score = new_place(priority, client)
  local gate = header and full_gate(id, header)
  if gate then
    park(id, new_live(WAITING, score, priority, arrival), header, gate)
    return BLOCKED
  end
  add(new_to_inbound, score, in_line(id, arrival))
  became_ready(1)
  return WAITING
end

-- Answers the job's record and state. `rest` is what the service has packed, `apart` a payload that lives apart.
local function store(id, flags, priority, client, digest, fingerprint, delay, run_at, rest, apart)
  local head = ''
  if client ~= '' then
    flags = flags + CLIENT
    head = string.char(#client) .. client
  end
  if digest ~= '' then flags = flags + DIGEST end
  if fingerprint ~= '' then flags = flags + FINGERPRINT end
  if apart ~= '' then
    flags = flags + APART
    add(write_payloads, id, apart)
  end
  local stamp = new_stamp()
  local record = struct.pack('>BI6I2B', LAYOUT, stamp, flags, priority) .. head .. digest .. fingerprint .. rest
  add(write_jobs, id, record)
  local state = first_place(id, record, flags, priority, client, math.max(run_at, now + delay), stamp)
  event('enqueued', id, '', {flags = flags, client = client}, '')
  total('enqueued')
  return record, STATES[state]
end
