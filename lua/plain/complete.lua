-- complete: the fast path. Every reservation is live and in time, no job belongs to a batch, and no job waits for a lock.
local record = require 'base/record'
local text = require 'base/text'
local clock = require 'base/clock'
local record_bytes = require 'base/record_bytes'
local ended = require 'jobs/ended'
local events_and_totals = require 'plain/events_and_totals'
local fields_of = require 'plain/fields'
local gates = require 'plain/gates'
local STRIDE = 2
local NONE = {}
local CLAIM, LAYOUT, HEAD, HELD, ONCE = $ID_LEN + 8, record.LAYOUT, record_bytes.HEAD, record_bytes.HELD, record_bytes.ONCE
local LOCKS = record.LOCKS / 256
local COMPLETED, DONE, DONE_BYTE = text.short('completed'), text.words('done', 0, ''), text.bytes[ended.DONE]
local call, pack, unpack_record, unpack, sub, max = redis.call, struct.pack, struct.unpack, unpack, string.sub, math.max
local short = text.short
-- Tables reused between calls; a call reads only the entries that it has written. The first two elements of `ids` are left for a
-- command and its key.
local ids, to_live, to_ended, off_held, off_dedupe = {}, {'HSET'}, {'ZADD'}, {'ZREM'}, {'HDEL'}
local tale, results, one_live, one_raw = {COMPLETED}, {'HSET'}, {}, {}
-- Digests that another job may own by now, and the jobs that are completed with them.
local shared_digests, digest_jobs = {}, {}
-- The total, its gain, and the reply of each item.
local answer = {'completed'}

-- Reads the ids; false if one comes twice.
local function read(args, n)
  local met = n > 1 and {} or NONE
  for i = 1, n do
    local id = args[i * 2 - 1]
    if met[id] then return false end
    ids[i + 2] = id
    if n > 1 then met[id] = true end
  end
  return true
end

-- The note of the event (reserved at, held ms) with the head of the next event, and the reply of the item.
local function note_of(since, now)
  local reserved_at = unpack_record('>I6', since)
  local held = text.of(max(now - reserved_at, 0))
  return '\0' .. short(text.of(reserved_at) .. ' ' .. held) .. COMPLETED, DONE .. held
end

-- Adds the digests that their jobs still own to those to free. Returns how many there are now.
local function settle_doubts(q, freed, n)
  for i, owner in ipairs(call('HMGET', q.dedupe, unpack(shared_digests, 1, n))) do
    if owner == digest_jobs[i] then
      freed = freed + 1
      off_dedupe[freed + 2] = shared_digests[i]
    end
  end
  return freed
end

-- Prepares all writes; nil if an item is unusual. Returns how many digests to free, how many to check first, how many words
-- `results` holds, and whether any job has locks.
local function decide(args, n, now, before, lives, raws)
  local freed, doubts, result_words, is_locked, known_since, known_worker, known_client = 0, 0, 0, false, nil, nil, nil
  local note, done, named, rest
  local how = DONE_BYTE .. pack('>I6', now)
  for i = 1, n do
    local k, live, raw = i * 2, lives[i], raws[i]
    if not live or not raw or not record_bytes.is_held(live) then return end
    local version, _, score, arrival, turn, counters, secret, nonce, since, _, _, _, worker, stop = unpack_record(HELD, live)
    local layout, _, high, flags = unpack_record(HEAD, raw)
    local id, claim, client, digest = ids[i + 2], args[k], record_bytes.parts(raw, flags, record_bytes.PARTS)
    if #claim > CLAIM then
      result_words = result_words + 2
      results[result_words + 1], results[result_words + 2], claim = id, sub(claim, CLAIM + 1), sub(claim, 1, CLAIM)
    end
    if secret ~= claim or version ~= LAYOUT or layout ~= LAYOUT or high > LOCKS or turn >= record_bytes.UNSERVED then return end
    if high == LOCKS then
      is_locked = is_locked or gates.open()
      gates.note(id, raw, flags, record_bytes.PARTS)
    end

    if since ~= known_since then known_since, known_client, note, done = since, nil, note_of(since, now) end
    if worker ~= known_worker then known_worker, known_client, named = worker, nil, short(worker) end
    if client ~= known_client then known_client, rest = client, named .. short(client) .. note end
    to_live[k + 1], to_ended[k + 2], tale[k], tale[k + 1] = id, id, id, rest
    to_live[k + 2] = record_bytes.complete(live, arrival, score, counters, stop, sub(claim, -8), how, since, named)
    answer[i + 2] = done
    to_ended[k + 1], off_held[i + 2] = text.of(before + i), worker .. '\0' .. nonce .. '\0' .. id
    -- A job that was handed out once was never dead, so it still owns its digest.
    if digest and counters == ONCE then
      freed = freed + 1
      off_dedupe[freed + 2] = digest
    elseif digest then
      doubts = doubts + 1
      shared_digests[doubts], digest_jobs[doubts] = digest, id
    end
  end
  return freed, doubts, result_words, is_locked
end

local function leave(verb, key, n)
  ids[1], ids[2] = verb, key
  call(unpack(ids, 1, n + 2))
end

local function write(q, n, result_words, freed, is_locked)
  to_live[2], to_ended[2], off_held[2], off_dedupe[2], results[2] = q.live, q.ended, q.held, q.dedupe, q.results
  call(unpack(to_live, 1, n * 2 + 2))
  call(unpack(to_ended, 1, n * 2 + 2))
  if result_words > 0 then call(unpack(results, 1, result_words + 2)) end
  if is_locked then gates.leave(q) end
  leave('ZREM', q.reserved, n)
  call(unpack(off_held, 1, n + 2))
  leave('HDEL', q.drafts, n)
  if freed > 0 then call(unpack(off_dedupe, 1, freed + 2)) end
end

return function(q, args)
  local n, now = #args / STRIDE, clock.read()
  if not read(args, n) or call('ZCOUNT', q.reserved, '-inf', text.of(now)) > 0 then return end
  local before, count, is_shared = events_and_totals.read(q, 'completed', now, 'shared')
  -- A dedupe key with a second live twin may be one of these.
  if is_shared then return end
  local lives, raws = fields_of(q.live, ids, 3, n, one_live), fields_of(q.jobs, ids, 3, n, one_raw)
  local freed, doubts, result_words, is_locked = decide(args, n, now, before, lives, raws)
  if not freed or is_locked and not gates.may_go(q) then return end

  if doubts > 0 then freed = settle_doubts(q, freed, doubts) end
  write(q, n, result_words, freed, is_locked)
  events_and_totals.tell(q, tale, n, 0)
  events_and_totals.write(q, 'completed', before + n, count + n)
  answer[2] = text.of(n)
  return text.packed(answer, n + 2)
end
