-- reserve: a person takes the next job, or gets back what they hold.   waiting -> reserved | blocked
-- FLAGS  allow-oom
-- USES   clock write record batch gate leave order event total commit
-- KEYS   inbound zset · reserved zset · delayed zset · parked zset · held zset · jobs hash · payloads hash ·
-- KEYS   live hash · settings hash
-- ARGV   per call 8: worker ('' = unnamed), nonce, limit, lease ms (0 = the job's), mode ('next' | 'resume' | 'this'),
-- ARGV   id (mode 'this'), secrets (26 characters a job), their digests (8 bytes a job)
-- REPLY  {now ms, warn ms, {waiting, blocked, delayed, reserved, paused (0 | 1), next ms (-1 = never)}, {per call:
-- REPLY  {'new' | 'held', {id, record, payload ('' = in the record), live record, deadline ms} …} |
-- REPLY  {'overdue'}: sweep first | {'later'}: the others' payloads filled the answer |
-- REPLY  {'more'}: all that was looked at is blocked now, and there is more to look at |
-- REPLY  {'unknown'} | {'state', state} | {'paused'} | {'limit'}}}
local STRIDE, LINE, BYTES, HELD, CHUNK = 8, 200, $RESERVE_BYTES, 200, 50

local function first_of(set)
  return tonumber(redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2] or math.huge)
end
-- What is overdue goes back to its place before anything is handed out: 300 s means 300 s, and the oldest comes first.
local overdue = math.min(first_of(reserved), first_of(delayed)) <= now
local chosen = redis.call('HMGET', settings, 'paused', 'lease_ms', 'max_hold_ms', 'worker_limit', 'warn_ms')
local paused, worker_limit = chosen[1] == '1', tonumber(chosen[4] or $WORKER_LIMIT)
local queue_lease, max_hold = tonumber(chosen[2] or $LEASE_MS), tonumber(chosen[3] or $MAX_HOLD_MS)

local leave_inbound, to_reserved, to_held = begin('ZREM', inbound), begin('ZADD', reserved), begin('ZADD', held)
local write_live = begin('HSET', live)
-- The head of the line: ids, places, headers and live records, side by side; `line_at` is who is next, `line_ends`
-- whether nobody comes behind.
local ids, places, headers, records, line_at, line_ends = {}, {}, {}, {}, 1, true
local touched, known, spent, handed, looked = {}, {}, 0, 0, 0

local function capped(deadline, reserved_at)
  if max_hold > 0 then return math.min(deadline, reserved_at + max_hold) end
  return deadline
end

local function read_line(most)
  local line = redis.call('ZRANGE', inbound, 0, most - 1, 'WITHSCORES')
  ids, places, line_at, line_ends = {}, {}, 1, #line < most * 2
  for i = 1, #line, 2 do ids[#ids + 1], places[#places + 1] = line[i], tonumber(line[i + 1]) end
  if #ids == 0 then return end
  headers, records = redis.call('HMGET', jobs, unpack(ids)), redis.call('HMGET', live, unpack(ids))
end

-- Everything that the calls can want, read at once.
local function read_what_is_wanted()
  local wanted = 0
  for at = 1, #ARGV, STRIDE do
    if ARGV[at + 4] ~= 'resume' then wanted = wanted + tonumber(ARGV[at + 2]) end
  end
  if wanted > 0 and not paused then read_line(math.min(wanted, LINE)) end
end

-- Is there somebody to look at? Jobs that turned out to be blocked make room for others behind them.
local function has_next()
  if line_at > #ids and not line_ends and looked < LINE then
    write_so_far()
    read_line(math.min(CHUNK, LINE - looked))
  end
  return line_at <= #ids
end

-- A job that the baton put back has its place in line, and is read with those behind it or stands among those ahead.
put_back = function(id, r, raw)
  local at = line_at
  while at <= #ids and (places[at] < r.score or places[at] == r.score and ids[at] < id) do at = at + 1 end
  if at > #ids and not line_ends then return end
  table.insert(ids, at, id)
  table.insert(places, at, r.score)
  table.insert(headers, at, raw)
  table.insert(records, at, pack_live(r))
end

-- All that a worker holds, or only what this very call was given before: {id, live record, hold} each, oldest first.
local function holds(worker, nonce, all)
  local from = all and worker .. '\0' or worker .. '\0' .. nonce .. '\0'
  local to = from:sub(1, -2) .. '\1'
  local members, mine = redis.call('ZRANGEBYLEX', held, '[' .. from, '(' .. to, 'LIMIT', 0, HELD), {}
  if #members == 0 then return mine end
  for _, member in ipairs(members) do
    local id = member:sub(-26)
    local r = read_live(redis.call('HGET', live, id))
    mine[#mine + 1] = {id = id, record = r, hold = read_hold(r.hold)}
  end
  table.sort(mine, function(a, b)
    if a.hold.reserved_at ~= b.hold.reserved_at then return a.hold.reserved_at < b.hold.reserved_at end
    if a.record.score ~= b.record.score then return a.record.score < b.record.score end
    return a.id < b.id
  end)
  return mine
end

local function is_apart(record)
  return bit.band(struct.unpack('>I2', record, 8), APART) ~= 0
end

local function size(id, record)
  return is_apart(record) and #record + redis.call('HSTRLEN', payloads, id) or #record
end

local function shown(id, record, raw, deadline)
  return {id, record, is_apart(record) and redis.call('HGET', payloads, id) or '', raw, deadline}
end

-- The same call again is given the same jobs. They are marked, lest the undo of a first try takes them from the second.
local function replay(mine, nonce)
  local given = {'held'}
  for _, job in ipairs(mine) do
    local hold, r = job.hold, job.record
    if hold.nonce == nonce then
      if bit.band(hold.marks, REPLAYED) == 0 then
        hold.marks = hold.marks + REPLAYED
        r.hold = pack_hold(hold)
        add(write_live, job.id, pack_live(r))
      end
      given[#given + 1] = shown(job.id, redis.call('HGET', jobs, job.id), pack_live(job.record),
        tonumber(redis.call('ZSCORE', reserved, job.id)))
    end
  end
  return #given > 1 and given or nil
end

-- The same reservation for the same person: a reloaded page has its job again.
local function resume(job, nonce, lease)
  local id, r, hold = job.id, job.record, job.hold
  add(leave_held, held_member(hold, id))
  hold.nonce, hold.resumes, hold.marks = nonce, hold.resumes + 1, 0
  if lease > 0 then hold.lease = lease end
  r.hold = pack_hold(hold)
  local granted = tonumber(redis.call('ZSCORE', reserved, id))
  local deadline = math.max(granted, capped(now + hold.lease, hold.reserved_at))
  add(to_held, '0', held_member(hold, id))
  add(to_reserved, deadline, id)
  local raw, record = pack_live(r), redis.call('HGET', jobs, id)
  add(write_live, id, raw)
  event('resumed', id, hold.worker, read_header(record), '')
  return shown(id, record, raw, deadline)
end

local function resume_all(mine, limit, nonce, lease)
  local given, bytes = {'held'}, 0
  for i = 1, math.min(#mine, limit) do
    local weight = size(mine[i].id, redis.call('HGET', jobs, mine[i].id))
    if i == 1 and spent > 0 and spent + weight > BYTES then return {'later'} end
    if i > 1 and bytes + weight > BYTES then break end
    bytes, spent = bytes + weight, spent + weight
    given[i + 1] = resume(mine[i], nonce, lease)
  end
  return given
end

-- The job, and the first of its gates that has no room.
local function look_at(id, score, record, raw)
  local header = read_header(record)
  local r = raw and read_live(raw) or new_live(WAITING, score, header.priority)
  r.score = score
  return r, header, is_gated(header) and full_gate(id, header)
end

local function block(id, r, header, gate)
  redis.call('ZREM', inbound, id)
  park(id, r, header, gate)
  pass_batons(id, header)
  event('blocked', id, '', header, '')
end

local function take(id, r, header, record, call, i)
  local lease = call.lease > 0 and call.lease or header.lease or queue_lease
  local deadline = capped(now + lease, now)
  enter(id, r, header, RESERVED)
  r.handed_out = r.handed_out + 1
  if is_gated(header) then occupy(id, header) end
  local hold = {
    secret = call.secrets:sub(i * 26 - 25, i * 26), digest = call.digests:sub(i * 8 - 7, i * 8), nonce = call.nonce,
    reserved_at = now, lease = lease, resumes = 0, marks = 0, worker = call.worker,
  }
  r.hold = pack_hold(hold)
  local mine = known[call.worker]
  if mine then mine[#mine + 1] = {id = id, record = r, hold = hold} end
  handed = handed + 1
  local packed = pack_live(r)
  add(leave_inbound, id)
  add(to_reserved, digits(deadline), id)
  add(to_held, '0', call.worker .. '\0' .. call.nonce .. '\0' .. id)
  add(write_live, id, packed)
  handed_out(r.score)
  event('reserved', id, call.worker, header, '')
  total('handed_out')
  return shown(id, record, packed, deadline)
end

-- New jobs in order, as many as asked for and as the byte budget allows; one call always gets one.
local function take_next(call, want)
  local given, bytes = {'new'}, 0
  while #given <= want and has_next() do
    local at = line_at
    local id, record = ids[at], headers[at]
    local r, header, full = look_at(id, places[at], record, records[at])
    local weight = full and 0 or size(id, record)
    if #given > 1 and bytes + weight > BYTES then break end
    if spent > 0 and spent + weight > BYTES then
      if #given == 1 then return {'later'} end
      break
    end
    bytes, spent, line_at = bytes + weight, spent + weight, at + 1
    if full then
      looked = looked + 1
      block(id, r, header, full)
    else
      given[#given + 1] = take(id, r, header, record, call, #given)
    end
  end
  if #given == 1 and line_at > #ids and not line_ends then return {'more'} end
  return given
end

local function drop_from_line(id)
  for at = line_at, #ids do
    if ids[at] == id then
      for _, column in ipairs({ids, places, headers, records}) do table.remove(column, at) end
      return
    end
  end
end

local function take_this(call, id, mine)
  local record = redis.call('HGET', jobs, id)
  if not record or is_stub(read_header(record)) then return {'unknown'} end
  local raw = redis.call('HGET', live, id)
  local r = raw and read_live(raw)
  if r and r.state == RESERVED and call.worker ~= '' then
    local hold = read_hold(r.hold)
    if hold.worker == call.worker then
      return {'held', resume({id = id, record = r, hold = hold}, call.nonce, call.lease)}
    end
  end
  if r and r.state ~= WAITING then return {'state', STATES[r.state]} end
  if paused then return {'paused'} end
  if call.worker ~= '' and worker_limit > 0 and #mine >= worker_limit then return {'limit'} end
  local header, full
  r, header, full = look_at(id, tonumber(redis.call('ZSCORE', inbound, id)), record, raw)
  drop_from_line(id)
  if not full then return {'new', take(id, r, header, record, call, 1)} end
  block(id, r, header, full)
  return {'state', STATES[r.state]}
end

local function serve(call, mode, limit, id)
  local who = call.worker ~= '' and call.worker or call.nonce
  if touched[who] or mode == 'this' then write_so_far() end
  touched[who] = true
  local all = call.worker ~= '' and (worker_limit > 0 or mode == 'resume')
  local mine = all and known[who] or holds(call.worker, call.nonce, all)
  if all then known[who] = mine end
  local before = replay(mine, call.nonce)
  if before then return before end
  if mode == 'this' then
    local given = take_this(call, id, mine)
    known = {} -- it read the records anew
    return given
  end
  if mode == 'resume' then return resume_all(mine, limit, call.nonce, call.lease) end
  if call.worker ~= '' and worker_limit > 0 then
    if #mine >= worker_limit then return resume_all(mine, limit, call.nonce, call.lease) end
    limit = math.min(limit, worker_limit - #mine)
  end
  if paused then return {'new'} end
  return take_next(call, limit)
end

local replies, hungry = {}, false
if not overdue then read_what_is_wanted() end
for at = 1, #ARGV, STRIDE do
  local call = {
    worker = ARGV[at], nonce = ARGV[at + 1], lease = tonumber(ARGV[at + 3]), secrets = ARGV[at + 6],
    digests = ARGV[at + 7],
  }
  local reply = overdue and {'overdue'} or serve(call, ARGV[at + 4], tonumber(ARGV[at + 2]), ARGV[at + 5])
  hungry = hungry or #reply == 1
  replies[#replies + 1] = reply
end

commit()
write_order(handed * 2 + 8)

-- Why there is nothing is looked up only for somebody who was given nothing.
local waiting, blocked, later, held_now, next_ms = redis.call('ZCARD', inbound), 0, 0, 0, -1
if hungry then
  blocked, later, held_now = redis.call('ZCARD', parked), redis.call('ZCARD', delayed), redis.call('ZCARD', reserved)
  local next_at = math.min(first_of(reserved), first_of(delayed))
  if next_at < math.huge then next_ms = next_at - now end
end
return {now, tonumber(chosen[5] or $WARN_MS), {waiting, blocked, later, held_now, paused and 1 or 0, next_ms}, replies}
