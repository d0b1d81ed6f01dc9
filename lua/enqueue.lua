-- enqueue: producers put jobs into the line.   - -> waiting | blocked | delayed
-- USES   clock write record batch gate baton order store event total commit
-- KEYS   ended zset · jobs hash · live hash · dedupe hash · settings hash
-- ARGV   per job 11: id, flags, priority, client, dedupe ('default' | 'on' | 'off'), digest (16 bytes or ''),
-- ARGV   fingerprint (8 bytes or ''), delay ms (0 = none), run at ms (0 = none), rest of the record, payload that
-- ARGV   lives apart ('' = it is in the rest)
-- REPLY  per job: {'stored', state} | {'twin', id, state} | {'reused'} | {'full'} |
-- REPLY  {'later'}: in the next script, as all behind it
local STRIDE = 11
local ids, digests, replies = {}, {}, {}
local n = #ARGV / STRIDE
for i = 1, n do
  ids[i] = ARGV[(i - 1) * STRIDE + 1]
  digests[i] = ARGV[(i - 1) * STRIDE + 6]
end
local chosen = redis.call('HMGET', settings, 'dedupe', 'max_jobs')
local by_default, room = chosen[1] ~= '0', room_left(chosen[2])
local known, twins = redis.call('HMGET', jobs, unpack(ids)), redis.call('HMGET', dedupe, unpack(digests))
local here = {}      -- what this very list stores: id -> record
local here_digest = {} -- digest -> id
local here_state = {}  -- id -> state

local stubs_to_ended, write_dedupe = begin('ZADD', ended), begin('HSET', dedupe)

-- Of those that are there already, and of those that a new one may meet.
local function read_states()
  local met, packed = {}, {}
  for i = 1, n do
    local at = (i - 1) * STRIDE
    if known[i] or twins[i] then met[#met + 1] = known[i] and ids[i] or twins[i] end
    packed[i] = {id = ids[i], flags = tonumber(ARGV[at + 2]), rest = ARGV[at + 10]}
  end
  foresee_locks(packed)
  if #met == 0 then return end
  for i, raw in ipairs(redis.call('HMGET', live, unpack(met))) do
    here_state[met[i]] = raw and STATES[read_live(raw).state] or 'waiting'
  end
end

local function state_of(id)
  return here_state[id] or 'waiting'
end

-- The same call again: what it did stands in its own record.
local function again(id, raw, fingerprint)
  local header = read_header(raw)
  if (header.fingerprint or '') ~= fingerprint then return {'reused'} end
  if not is_stub(header) then return {'stored', state_of(id)} end
  local twin = raw:sub(header.stop, header.stop + 25)
  return {'twin', twin, STATES[raw:byte(header.stop + 26)]}
end

local function meet(id, twin, fingerprint)
  local state = state_of(twin)
  if fingerprint ~= '' then
    local word = 1
    while STATES[word] ~= state do word = word + 1 end
    local stamp, flags = new_stamp(), STUB + FINGERPRINT
    here[id] = struct.pack('>BI6I2Bc8', LAYOUT, stamp, flags, 0, fingerprint) .. twin .. string.char(word)
    add(write_jobs, id, here[id])
    add(stubs_to_ended, digits(stamp), id)
    total('stubs')
  end
  return {'twin', twin, state}
end

local function accept(i, at)
  local id, flags, priority, client = ids[i], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), ARGV[at + 3]
  local dedupes, digest, fingerprint = ARGV[at + 4], ARGV[at + 5], ARGV[at + 6]
  local run_at, rest, apart = tonumber(ARGV[at + 8]), ARGV[at + 9], ARGV[at + 10]
  local record = here[id] or known[i]
  if record then return again(id, record, fingerprint) end
  if dedupes == 'off' or dedupes == 'default' and not by_default then digest = '' end
  local twin = digest ~= '' and (here_digest[digest] or twins[i])
  if twin then return meet(id, twin, fingerprint) end
  if room <= 0 then return {'full'} end
  room = room - 1

  local state
  if digest ~= '' then
    here_digest[digest] = id
    add(write_dedupe, digest, id)
  end
  here[id], state = store(id, flags, priority, client, digest, fingerprint, tonumber(ARGV[at + 7]), run_at, rest, apart)
  here_state[id] = state
  return {'stored', state}
end

read_states()
for i = 1, n do replies[i] = is_spent() and {'later'} or accept(i, (i - 1) * STRIDE + 1) end

commit()
return counted(replies)
