-- enqueue: producers put jobs into the line.   - -> waiting | blocked | delayed
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · held zset ·
-- KEYS   restricted zset · lines zset · turns hash · jobs hash · payloads hash · live hash · results hash ·
-- KEYS   drafts hash · dedupe hash · gates hash · batches hash · timers zset · routes hash · alarms zset ·
-- KEYS   tops hash · settings hash · totals hash · events stream · hints channel
-- ARGV   per job 2: id, and after it rare options (none: no delay, and deduplicated if the queue does): always deduplicate
-- ARGV   (0 | 1 | 2: by a key of the caller's), delay ms in 6 bytes (0 = none), run at ms in 6 bytes (0 = none), with the flag ROUTED the first ms and the one after
-- ARGV   the last at which its times are valid, 6 bytes each, and its route after its length in 2 bytes, as jobs/route reads it;
-- ARGV   external payload;
-- ARGV   record without layout and stamp
-- REPLY  per job, its words: 'stored' state | 'again' state: an earlier call with its id has stored it | 'twin' id state and a bit for each field in which it differs | 'reused' | 'full' | 'overdue': full, but sweep first | 'untimely' now ms |
-- REPLY  'later': in the next script, as all after it
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local write = require 'base/write'
local total = require 'base/total'
local stamp = require 'base/stamp'
local commit = require 'base/commit'
local differs = require 'jobs/differs'
local order = require 'jobs/order'
local store = require 'jobs/store'
local lapse = require 'jobs/lapse'
-- Commands of a look at what the list meets.
local STRIDE, LOOK = 2, 8
local STATES = record.STATES
local ID_LEN = $ID_LEN
local call, unpack, words, sub = redis.call, unpack, text.words, string.sub
local STORED = {} -- the reply to a new job, by its state
for _, state in ipairs(STATES) do STORED[state] = words('stored', state) end

-- A job of this list that a later one may be equal to, as jobs/differs takes it.
local function as_new_twin(q, job)
  local due = store.due(q, job)
  return {
    id = job.id, header = job.header, priority = job.header.priority, due = due > clock.now(q) and due or nil, external = job.external,
  }
end

-- The same for a job that was stored before.
local function as_twin(job)
  local r, header = job.record, job.header
  local priority = not r and header.priority or r.score < 0 and r.priority or order.priority_of(r.score)
  local is_new = not r or r.score < 0 or r.arrival == header.stamp
  return {
    id = job.id, header = header, priority = priority, due = r and r.state == record.DELAYED and r.score < 0 and job.at or nil,
    had_delay = not is_new,
  }
end

-- Reads what the list meets: the jobs that an earlier call of it has stored, and the owners of its dedupe keys. One that is over by time leaves
-- its key to the next.
local function meet(q, list, digests)
  local has_changed = true
  while has_changed and not write.is_spent(q) do
    list.known, list.twins = call('HMGET', q.jobs, unpack(list.ids)), call('HMGET', q.dedupe, unpack(digests))
    local met = {}
    for i = 1, list.n do
      local id = list.known[i] and list.ids[i] or list.twins[i]
      if id and not met[id] then met[#met + 1], met[id] = id, true end
    end
    if #met == 0 then return end
    write.spend(q, LOOK)
    local jobs, is_changed = lapse.read(q, met)
    has_changed = is_changed
    for i, job in ipairs(jobs) do
      list.states[met[i]], list.met[met[i]] = job and STATES[job.record.state], job and as_twin(job)
    end
  end
end

-- The jobs stored before: `known` and `twins` by index, `states` id -> state, `met` id -> the job. What this list stores: `here` id -> the
-- record, `new` id -> the job, `digests` digest -> id.
local function read(q, args)
  local list = {n = #args / STRIDE, jobs = {}, ids = {}, known = {}, twins = {}, states = {}, met = {}, here = {}, new = {}, digests = {}}
  local digests = {}
  for i = 1, list.n do
    local id, tail = args[i * STRIDE - 1], args[i * STRIDE]
    local job = store.new(sub(id, 1, ID_LEN), tail, id, ID_LEN + 1)
    list.jobs[i], list.ids[i], digests[i] = job, job.id, job.header.digest or ''
  end
  meet(q, list, digests)
  local chosen = call('HMGET', q.settings, 'dedupe', 'max_jobs')
  list.dedupes, list.room = chosen[1] ~= '0', store.room_left(q, chosen[2])
  local new = {}
  for i = 1, list.n do
    if not list.known[i] and not list.twins[i] then new[#new + 1] = list.jobs[i] end
  end
  store.prefetch(q, new)
  return list
end

local function state_of(list, id)
  local new = list.new[id]
  return new and new.state or list.states[id] or 'waiting'
end

-- The reply to a repeated call, from the record that it stored.
local function again(list, id, raw, fingerprint)
  local header = record.header(raw)
  if (header.fingerprint or '') ~= fingerprint then return 'reused' end
  if not record.is_alias(header) then return words('again', state_of(list, id)) end
  local twin = raw:sub(header.stop, header.stop + $ID_LEN - 1)
  local state, high, low = raw:byte(header.stop + $ID_LEN, header.stop + $ID_LEN + 2)
  return words('twin', twin, STATES[state], text.of((high or 0) * 256 + (low or 0)))
end

-- Does not store a twin, but an alias for a repeated call if it has an idempotency key.
local function answer_twin(q, list, job, twin, fingerprint)
  local id, state, bits = job.id, state_of(list, twin), differs.of(q, job, list.met[twin] or as_new_twin(q, list.new[twin]))
  if fingerprint ~= '' then
    local word = 1
    while STATES[word] ~= state do word = word + 1 end
    local met = stamp.new(q)
    local rest = fingerprint .. twin .. text.bytes[word] .. struct.pack('>I2', bits)
    local raw = record.stamped(met, record.tail(record.ALIAS + record.FINGERPRINT, 0, rest))
    list.here[id] = raw
    write.set(q, 'jobs', id, raw)
    write.add(q, 'ended', text.of(met), id)
    total.count(q, 'stubs')
  end
  return words('twin', twin, state, text.of(bits))
end

local function accept(q, list, i)
  local job, id = list.jobs[i], list.ids[i]
  local digest, fingerprint = job.header.digest, job.header.fingerprint or ''
  local raw = list.here[id] or list.known[i]
  if raw then return again(list, id, raw, fingerprint) end
  if digest and not job.always and not list.dedupes then
    digest, job.header = nil, record.new_header(record.without_digest(job.header))
  end
  local twin = digest and (list.digests[digest] or list.twins[i])
  if twin then return answer_twin(q, list, job, twin, fingerprint) end
  if not store.is_timely(q, job) then return words('untimely', text.of(clock.now(q))) end
  if list.room <= 0 then
    list.why_full = list.why_full or store.why_full(q)
    return list.why_full
  end
  list.room = list.room - 1

  if digest then
    list.digests[digest] = id
    write.set(q, 'dedupe', digest, id)
  end
  job.state = store.job(q, job)
  list.new[id], list.here[id] = job, job.header.raw
  return STORED[job.state]
end

return function(q, args)
  local list, replies = read(q, args), {}
  for i = 1, list.n do replies[i] = write.is_spent(q) and 'later' or accept(q, list, i) end
  return commit(q, replies)
end
