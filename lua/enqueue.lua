-- enqueue: producers put jobs into the line.   - -> waiting | delayed
-- USES   clock write record order event total commit
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · jobs hash ·
-- KEYS   payloads hash · live hash · dedupe hash · settings hash
-- ARGV   per job 11: id, flags, priority, client, dedupe ('default' | 'on' | 'off'), digest (16 bytes or ''),
-- ARGV   fingerprint (8 bytes or ''), delay ms (0 = none), run at ms (0 = none), rest of the record, payload that
-- ARGV   lives apart ('' = it is in the rest)
-- REPLY  per job: {'stored', state} | {'twin', id, state} | {'reused'} | {'full'}
local STRIDE = 11
local ids, digests, replies = {}, {}, {}
local n = #ARGV / STRIDE
for i = 1, n do
  ids[i] = ARGV[(i - 1) * STRIDE + 1]
  digests[i] = ARGV[(i - 1) * STRIDE + 6]
end
local chosen = redis.call('HMGET', settings, 'dedupe', 'max_jobs')
local by_default, max_jobs = chosen[1] ~= '0', tonumber(chosen[2] or $MAX_JOBS)
local known, twins = redis.call('HMGET', jobs, unpack(ids)), redis.call('HMGET', dedupe, unpack(digests))
local here = {}      -- what this very list stores: id -> record
local here_digest = {} -- digest -> id
local here_state = {}  -- id -> state

local room
if max_jobs > 0 then
  room = max_jobs
  for _, key in ipairs({inbound, delayed, reserved, dead, parked}) do room = room - redis.call('ZCARD', key) end
end

local write_jobs, write_payloads, write_live = begin('HSET', jobs), begin('HSET', payloads), begin('HSET', live)
local to_inbound, to_delayed, to_ended = begin('ZADD', inbound), begin('ZADD', delayed), begin('ZADD', ended)
local write_dedupe = begin('HSET', dedupe)

local function state_of(id)
  if here_state[id] then return here_state[id] end
  local raw = redis.call('HGET', live, id)
  return raw and STATES[read_live(raw).state] or 'waiting'
end

-- The same call again: what it did stands in its own record.
local function again(id, raw, fingerprint)
  local header = read_header(raw)
  if (header.fingerprint or '') ~= fingerprint then return {'reused'} end
  if not is_stub(header) then return {'stored', state_of(id)} end
  local twin = raw:sub(header.stop, header.stop + 25)
  return {'twin', twin, STATES[raw:byte(header.stop + 26)]}
end

local function keep(id, record)
  here[id] = record
  add(write_jobs, id, record)
end

local function meet(id, twin, fingerprint)
  local state = state_of(twin)
  if fingerprint ~= '' then
    local word = 1
    while STATES[word] ~= state do word = word + 1 end
    keep(id, struct.pack('>BI6I2Bc8', 1, now, STUB + FINGERPRINT, 0, fingerprint) .. twin .. string.char(word))
    add(to_ended, now, id)
    total('stubs')
  end
  return {'twin', twin, state}
end

local function store(i, at)
  local id, flags, priority, client = ids[i], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), ARGV[at + 3]
  local dedupes, digest, fingerprint = ARGV[at + 4], ARGV[at + 5], ARGV[at + 6]
  local run_at, rest, apart = tonumber(ARGV[at + 8]), ARGV[at + 9], ARGV[at + 10]
  local record = here[id] or known[i]
  if record then return again(id, record, fingerprint) end
  if dedupes == 'off' or dedupes == 'default' and not by_default then digest = '' end
  local twin = digest ~= '' and (here_digest[digest] or twins[i])
  if twin then return meet(id, twin, fingerprint) end
  if room and room <= 0 then return {'full'} end
  room = room and room - 1

  local head = ''
  if client ~= '' then
    flags = flags + CLIENT
    head = string.char(#client) .. client
  end
  if digest ~= '' then
    flags = flags + DIGEST
    here_digest[digest] = id
    add(write_dedupe, digest, id)
  end
  if fingerprint ~= '' then flags = flags + FINGERPRINT end
  if apart ~= '' then
    flags = flags + APART
    add(write_payloads, id, apart)
  end
  keep(id, struct.pack('>BI6I2B', 1, now, flags, priority) .. head .. digest .. fingerprint .. rest)
  local due = math.max(run_at, now + tonumber(ARGV[at + 7]))
  local state = due > now and DELAYED or WAITING
  if state == DELAYED then
    add(to_delayed, due, id)
    add(write_live, id, pack_live(new_live(DELAYED, -1, priority)))
  else
    add(to_inbound, new_place(priority, client), id)
  end
  here_state[id] = STATES[state]
  event('enqueued', id, '', client, '')
  total('enqueued')
  return {'stored', here_state[id]}
end

for i = 1, n do replies[i] = store(i, (i - 1) * STRIDE + 1) end

commit()
write_order(0)
return replies
