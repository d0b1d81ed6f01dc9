-- reserve: a person takes the next job, or gets back what they hold.   waiting -> reserved | blocked
-- FLAGS  allow-oom
-- USES   clock write record place batch gate baton order line leave skip hand event total commit
-- KEYS   inbound zset · reserved zset · delayed zset · parked zset · held zset · jobs hash · live hash · settings hash
-- ARGV   per call 10: worker ('' = unnamed), nonce, limit, lease ms (0 = the job's), mode ('next' | 'resume' | 'this'),
-- ARGV   id (mode 'this'), secrets (26 characters a job), their digests (8 bytes a job), place and member to go on behind
-- ARGV   ('' = from the front)
-- REPLY  {now ms, warn ms, {waiting, blocked, delayed, reserved, paused (0 | 1), next ms (-1 = never)}, {per call:
-- REPLY  {'new' | 'held', {id, record, payload ('' = in the record), live record, deadline ms, draft ('' = none)} …} |
-- REPLY  {'overdue'}: sweep first | {'later'}: the others have filled the answer, or worn out the script |
-- REPLY  {'more', place, member}: nothing among those looked at; go on behind that one ('' = from the front) |
-- REPLY  {'skipped'}: all that is there, this worker has skipped |
-- REPLY  {'unknown'} | {'state', state} | {'paused'} | {'limit'}}}
local STRIDE, BYTES, HELD = 10, $RESERVE_BYTES, 200
local PRIORITY = 1 -- what the order of one more priority asks for

local function first_of(set)
  return tonumber(redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2] or math.huge)
end
-- What is overdue goes back to its place before anything is handed out: 300 s means 300 s, and the oldest comes first.
local overdue = math.min(first_of(reserved), first_of(delayed)) <= now
local chosen = redis.call('HMGET', settings, 'paused', 'lease_ms', 'max_hold_ms', 'worker_limit', 'warn_ms',
  'share_drafts')
local paused, worker_limit = chosen[1] == '1', tonumber(chosen[4] or $WORKER_LIMIT)
local queue_lease, max_hold = tonumber(chosen[2] or $LEASE_MS), tonumber(chosen[3] or $MAX_HOLD_MS)

local leave_inbound, to_reserved, to_held = begin('ZREM', inbound), begin('ZADD', reserved), begin('ZADD', held)
local touched, known, priorities, spent, passed_over = {}, {}, {}, 0, 0

local function capped(deadline, reserved_at)
  if max_hold > 0 then return math.min(deadline, reserved_at + max_hold) end
  return deadline
end

-- Everything that the calls can want, read at once.
local function read_what_is_wanted()
  local wanted = 0
  for at = 1, #ARGV, STRIDE do
    if ARGV[at + 4] ~= 'resume' then wanted = wanted + tonumber(ARGV[at + 2]) end
  end
  if wanted > 0 and not paused then read_from('', '', math.min(wanted, CANDIDATES)) end
end

-- All that a worker holds, or only what this very call was given before: {id, live record, hold} each, oldest first.
local function holds(worker, nonce, all)
  local from = all and worker .. '\0' or worker .. '\0' .. nonce .. '\0'
  local to = from:sub(1, -2) .. '\1'
  local members, mine = ask('ZRANGEBYLEX', held, '[' .. from, '(' .. to, 'LIMIT', 0, HELD), {}
  if #members == 0 then return mine end
  for i, member in ipairs(members) do members[i] = member:sub(-26) end
  for i, raw in ipairs(ask('HMGET', live, unpack(members))) do
    local r = raw and read_live(raw)
    if r and r.hold ~= '' then mine[#mine + 1] = {id = members[i], record = r, hold = read_hold(r.hold)} end
  end
  table.sort(mine, function(a, b)
    if a.hold.reserved_at ~= b.hold.reserved_at then return a.hold.reserved_at < b.hold.reserved_at end
    if a.record.score ~= b.record.score then return a.record.score < b.record.score end
    return a.record.arrival < b.record.arrival
  end)
  return mine
end

-- Their headers and deadlines, at once.
local function read_rest(those)
  local ids = {}
  for i, job in ipairs(those) do ids[i] = job.id end
  local headers, deadlines = ask('HMGET', jobs, unpack(ids)), ask('ZMSCORE', reserved, unpack(ids))
  for i, job in ipairs(those) do job.raw, job.deadline = headers[i], tonumber(deadlines[i] or 0) end
end

-- The same call again is given the same jobs. They are marked, lest the undo of a first try takes them from the second.
local function replay(mine, nonce)
  local given, those = {'held'}, {}
  for _, job in ipairs(mine) do
    if job.hold.nonce == nonce then those[#those + 1] = job end
  end
  if #those == 0 then return end
  read_rest(those)
  if not can_show(those) then return {'later'} end
  for _, job in ipairs(those) do
    local hold, r = job.hold, job.record
    if bit.band(hold.marks, REPLAYED) == 0 then
      hold.marks = hold.marks + REPLAYED
      r.hold = pack_hold(hold)
      keep(job.id, r)
    end
    given[#given + 1] = shown(job.id, job.raw, pack_live(r), job.deadline, hold.worker)
  end
  return given
end

-- The same reservation for the same person: a reloaded page has its job again.
local function resume(job, nonce, lease)
  local id, r, hold = job.id, job.record, job.hold
  add(leave_held, held_member(hold, id))
  hold.nonce, hold.resumes, hold.marks = nonce, hold.resumes + 1, 0
  if lease > 0 then hold.lease = lease end
  r.hold = pack_hold(hold)
  job.deadline = math.max(job.deadline, capped(now + hold.lease, hold.reserved_at))
  add(to_held, '0', held_member(hold, id))
  add(to_reserved, job.deadline, id)
  keep(id, r)
  event('resumed', id, hold.worker, read_header(job.raw), '')
  return shown(id, job.raw, pack_live(r), job.deadline, hold.worker)
end

local function resume_all(mine, limit, nonce, lease)
  local given, those, bytes = {'held'}, {}, 0
  for i = 1, math.min(#mine, limit) do those[i] = mine[i] end
  if #those > 0 then read_rest(those) end
  if not can_show(those) then return {'later'} end
  for i, job in ipairs(those) do
    local weight = size(job.id, job.raw, spent > BYTES / 2)
    if i == 1 and spent > 0 and spent + weight > BYTES then return {'later'} end
    if i > 1 and bytes + weight > BYTES then break end
    bytes, spent = bytes + weight, spent + weight
    given[i + 1] = resume(job, nonce, lease)
  end
  return given
end

-- The job, and the first of its gates that has no room.
local function look_at(id, score, record, raw)
  local header = read_header(record)
  local r = raw and read_live(raw) or new_live(WAITING, score, header.priority, header.stamp)
  r.score = score
  if not is_gated(header) then return r, header end
  in_hand[id] = {record = r, header = header}
  foresee_line()
  return r, header, full_gate(id, header)
end

local function block(id, r, header, gate)
  leave_line(id, r)
  park(id, r, header, gate)
  pass_batons(id, header)
  event('blocked', id, '', header, '')
end

local function take(id, r, header, record, raw, call, i, passed)
  local lease = call.lease > 0 and call.lease or header.lease or queue_lease
  local deadline = capped(now + lease, now)
  enter(id, r, header, RESERVED)
  r.handed_out = r.handed_out + 1
  handed_out(r.score, passed)
  give_back(r, header.client)
  if is_gated(header) then
    occupy(id, header)
    leave_line(id, r)
  else
    add(leave_inbound, in_line(id, r.arrival))
  end
  local hold = {
    secret = call.secrets:sub(i * 26 - 25, i * 26), digest = call.digests:sub(i * 8 - 7, i * 8), nonce = call.nonce,
    reserved_at = now, lease = lease, resumes = 0, marks = 0, worker = call.worker,
  }
  r.hold = pack_hold(hold)
  local mine = known[call.worker]
  if mine then mine[#mine + 1] = {id = id, record = r, hold = hold} end
  local packed, priority = pack_live(r), priority_of(r.score)
  if not priorities[priority] then
    priorities[priority] = true
    spend(PRIORITY)
  end
  add(to_reserved, digits(deadline), id)
  add(to_held, '0', call.worker .. '\0' .. call.nonce .. '\0' .. id)
  add(keep_live, id, packed)
  event('reserved', id, call.worker, header, '')
  total('handed_out')
  return shown(id, record, packed, deadline, call.worker, not raw)
end

-- For who has skipped it, a job is not in line: the next that is parked at its gates comes in its stead.
local function pass_over(id, header)
  if passed_over >= CANDIDATES then return end
  passed_over = passed_over + 1
  pass_batons(id, header)
end

-- New jobs in order, as many as asked for and as the byte budget allows; one call always gets one.
local function take_next(call, want)
  local given, bytes, passed, seen = {'new'}, 0, nil, {}
  cursor = line_at
  while #given <= want and not is_tired() and somebody() do
    local id, place, record, raw, member = unpack(line[cursor])
    local r, header, full = look_at(id, place, record, raw)
    if r.skips ~= '' and has_skipped(r, call.worker) then
      cursor, looked, passed = cursor + 1, looked + 1, {place, member}
      if is_gated(header) and not seen[id] then
        seen[id] = true
        pass_over(id, header)
      end
    elseif full then
      looked = looked + 1
      drop()
      block(id, r, header, full)
    else
      local weight = size(id, record, spent > BYTES / 2)
      if #given > 1 and bytes + weight > BYTES then break end
      if spent > 0 and spent + weight > BYTES then
        if #given == 1 then return {'later'} end
        break
      end
      bytes, spent = bytes + weight, spent + weight
      drop()
      given[#given + 1] = take(id, r, header, record, raw, call, #given, first_passed)
    end
  end
  if #given > 1 then return given end
  -- A call that goes on has passed somebody before.
  if call.from ~= '' then passed = passed or {tonumber(call.from_place), call.from} end
  if is_tired() and cursor <= #line or cursor > #line and not line_ends then
    return {'more', passed and digits(passed[1]) or '', passed and passed[2] or ''}
  end
  return passed and {'skipped'} or given
end

local function take_this(call, id, mine)
  local record = ask('HGET', jobs, id)
  if not record or is_stub(read_header(record)) then return {'unknown'} end
  local raw = ask('HGET', live, id)
  local r = raw and read_live(raw)
  if r and r.state == RESERVED and call.worker ~= '' then
    local hold = read_hold(r.hold)
    if hold.worker == call.worker then
      local job = {id = id, record = r, hold = hold}
      read_rest({job})
      return {'held', resume(job, call.nonce, call.lease)}
    end
  end
  if r and r.state ~= WAITING then return {'state', STATES[r.state]} end
  if paused then return {'paused'} end
  if call.worker ~= '' and worker_limit > 0 and #mine >= worker_limit then return {'limit'} end
  local header, full
  r, header, full = look_at(id, (r or unseen(id, read_header(record))).score, record, raw)
  drop_id(id)
  local function first_but_this(priority)
    local place, member = first_in_line(priority)
    return member ~= in_line(id, r.arrival) and place or nil
  end
  if not full then return {'new', take(id, r, header, record, raw, call, 1, first_but_this)} end
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
  if call.from == '' then return take_next(call, limit) end
  write_so_far()
  read_from(call.from_place, call.from, CHUNK)
  local given = take_next(call, limit)
  write_so_far()
  read_from('', '', CHUNK)
  return given
end

local replies, hungry = {}, false
if not overdue then read_what_is_wanted() end
for at = 1, #ARGV, STRIDE do
  local call = {
    worker = ARGV[at], nonce = ARGV[at + 1], lease = tonumber(ARGV[at + 3]), secrets = ARGV[at + 6],
    digests = ARGV[at + 7], from_place = ARGV[at + 8], from = ARGV[at + 9],
  }
  local reply = overdue and {'overdue'} or is_tired() and {'later'}
    or serve(call, ARGV[at + 4], tonumber(ARGV[at + 2]), ARGV[at + 5])
  hungry = hungry or type(reply[2]) ~= 'table'
  replies[#replies + 1] = reply
end

show_drafts(chosen[6] == '1')
commit()

-- Why there is nothing is looked up only for somebody who was given nothing.
local waiting, blocked, later, held_now, next_ms = redis.call('ZCARD', inbound), 0, 0, 0, -1
if hungry then
  blocked, later, held_now = redis.call('ZCARD', parked), redis.call('ZCARD', delayed), redis.call('ZCARD', reserved)
  local next_at = math.min(first_of(reserved), first_of(delayed))
  if next_at < math.huge then next_ms = next_at - now end
end
local sight = {waiting, blocked, later, held_now, paused and 1 or 0, next_ms}
return counted({now, tonumber(chosen[5] or $WARN_MS), sight, replies})
