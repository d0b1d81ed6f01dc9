-- enqueue: producers put jobs into the line.   - -> waiting | blocked | delayed
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · turns hash · jobs hash ·
-- KEYS   payloads hash · live hash · dedupe hash · gates hash · batches hash · timers zset · tops hash ·
-- KEYS   settings hash · totals hash · events stream · hints channel
-- ARGV   per job 11: id, flags, priority, client, dedupe ('default' | 'on' | 'off'), digest (16 bytes or ''),
-- ARGV   fingerprint (8 bytes or ''), delay ms (0 = none), run at ms (0 = none), rest of the record, payload that
-- ARGV   lives apart ('' = it is in the rest)
-- REPLY  per job: {'stored', state} | {'twin', id, state} | {'reused'} | {'full'} |
-- REPLY  {'later'}: in the next script, as all behind it
local record = require 'base/record'
local text = require 'base/text'
local write = require 'base/write'
local total = require 'base/total'
local stamp = require 'base/stamp'
local commit = require 'base/commit'
local store = require 'jobs/store'
local is_on = require 'plain/switch'
local plain = require 'plain/enqueue'
local STRIDE = 11
local STATES = record.STATES
local call, unpack = redis.call, unpack

-- What is there already, and what this very list stores: `here` id -> record, `digests` digest -> id, `states` id -> state.
local function read(q, args)
  local list = {n = #args / STRIDE, ids = {}, known = {}, twins = {}, here = {}, digests = {}, states = {}}
  local digests, packed, met = {}, {}, {}
  for i = 1, list.n do
    local at = (i - 1) * STRIDE
    list.ids[i], digests[i] = args[at + 1], args[at + 6]
    packed[i] = {id = args[at + 1], flags = tonumber(args[at + 2]), rest = args[at + 10]}
  end
  local chosen = call('HMGET', q.settings, 'dedupe', 'max_jobs')
  list.dedupes, list.room = chosen[1] ~= '0', store.room_left(q, chosen[2])
  list.known, list.twins = call('HMGET', q.jobs, unpack(list.ids)), call('HMGET', q.dedupe, unpack(digests))
  for i = 1, list.n do
    if list.known[i] or list.twins[i] then met[#met + 1] = list.known[i] and list.ids[i] or list.twins[i] end
  end
  store.foresee_locks(q, packed)
  if #met == 0 then return list end
  for i, raw in ipairs(call('HMGET', q.live, unpack(met))) do
    list.states[met[i]] = raw and STATES[record.live(raw).state] or 'waiting'
  end
  return list
end

local function state_of(list, id)
  return list.states[id] or 'waiting'
end

-- The same call again: what it did stands in its own record.
local function again(list, id, raw, fingerprint)
  local header = record.header(raw)
  if (header.fingerprint or '') ~= fingerprint then return {'reused'} end
  if not record.is_alias(header) then return {'stored', state_of(list, id)} end
  local twin = raw:sub(header.stop, header.stop + 25)
  return {'twin', twin, STATES[raw:byte(header.stop + 26)]}
end

-- A twin of a job that is there is not stored; what remembers it for a repeated call is.
local function meet(q, list, id, twin, fingerprint)
  local state = state_of(list, twin)
  if fingerprint ~= '' then
    local word = 1
    while STATES[word] ~= state do word = word + 1 end
    local met = stamp.new(q)
    local raw = record.head(met, record.ALIAS + record.FINGERPRINT, 0) .. fingerprint .. twin .. text.bytes[word]
    list.here[id] = raw
    write.set(q, 'jobs', id, raw)
    write.add(q, 'ended', text.of(met), id)
    total.count(q, 'stubs')
  end
  return {'twin', twin, state}
end

local function accept(q, list, args, i)
  local at, id = (i - 1) * STRIDE, list.ids[i]
  local dedupes, digest, fingerprint = args[at + 5], args[at + 6], args[at + 7]
  local raw = list.here[id] or list.known[i]
  if raw then return again(list, id, raw, fingerprint) end
  if dedupes == 'off' or dedupes == 'default' and not list.dedupes then digest = '' end
  local twin = digest ~= '' and (list.digests[digest] or list.twins[i])
  if twin then return meet(q, list, id, twin, fingerprint) end
  if list.room <= 0 then return {'full'} end
  list.room = list.room - 1

  if digest ~= '' then
    list.digests[digest] = id
    write.set(q, 'dedupe', digest, id)
  end
  list.here[id], list.states[id] = store.job(q, {
    id = id, flags = tonumber(args[at + 2]), priority = tonumber(args[at + 3]), client = args[at + 4], digest = digest,
    fingerprint = fingerprint, delay = tonumber(args[at + 8]), run_at = tonumber(args[at + 9]), rest = args[at + 10],
    external = args[at + 11],
  })
  return {'stored', list.states[id]}
end

local function whole(q, args)
  local list, replies = read(q, args), {}
  for i = 1, list.n do replies[i] = write.is_spent(q) and {'later'} or accept(q, list, args, i) end
  return commit(q, replies)
end

return function(q, args)
  return is_on and plain(q, args) or whole(q, args)
end
