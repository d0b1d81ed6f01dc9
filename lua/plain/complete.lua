-- complete: the fast path. Every completion is final and every reservation live and in time, no job waits for a lock, and time does nothing
-- more to a job with a route.
local record = require 'base/record'
local text = require 'base/text'
local clock = require 'base/clock'
local record_bytes = require 'base/record_bytes'
local event = require 'base/event'
local hint = require 'base/hint'
local stamp = require 'base/stamp'
local fields_of = require 'base/fields'
local ended = require 'jobs/ended'
local gate = require 'jobs/gate'
local members = require 'plain/members'
local locks = gate.locks
local STRIDE, UNFIT = 3, '-1 -1'
local CLOSING = record.CLOSING
local NONE = {}
local CLAIM, LAYOUT, HEAD, HELD, ONCE = $ID_LEN + 8, record.LAYOUT, record_bytes.HEAD, record_bytes.HELD, record_bytes.ONCE
local LOCKS, MEMBER, ROUTED = record.LOCKS / 256, record.MEMBER / 256, record.ROUTED / 256
local COMPLETED, COMPLETED_IN_BATCH = event.heads.completed, event.heads_in_batch.completed
local NEVER = struct.pack('>d', -1) -- the score of a job that `ended` has
local DONE, DONE_BYTE = text.words('done', 0, ''), text.bytes[ended.DONE]
local call, pack, unpack_record, unpack, sub, max = redis.call, struct.pack, struct.unpack, unpack, string.sub, math.max
local short = text.short
-- Tables reused between calls; a call reads only the entries that it has written. The first two elements of `ids` are left for a
-- command and its key.
local ids, to_live, to_ended, off_held, off_dedupe = {}, {'HSET'}, {'ZADD'}, {'ZREM'}, {'HDEL'}
local events, results, one_live, one_raw = {}, {'HSET'}, {}, {}
-- Digests that another job may own by now, and the jobs that are completed with them.
local shared_digests, digest_jobs = {}, {}
local routed = {} -- the jobs with a route
-- The total, its gain, and the reply of each item.
local answer = {'completed'}
-- Whether any job has locks, and how many belong to batches, and have a route.
local has = {locks = false, members = 0, routed = 0}

-- Reads the ids; false if one comes twice, can be taken back, or says how often its caller resumed it. One that does not fit goes on until
-- its secret is known: a stranger's takes as long as one that fits.
local function read(args, n)
  local met = n > 1 and {} or NONE
  for i = 1, n do
    local at = i * STRIDE
    local id, how = args[at - 2], args[at]
    if met[id] or how ~= '' and how ~= UNFIT then return false end
    ids[i + 2] = id
    if n > 1 then met[id] = true end
  end
  return true
end

-- The note of the event (reserved at, held ms), and the reply of the item.
local function note_of(since, now)
  local reserved_at = unpack_record('>I6', since)
  local held = text.of(max(now - reserved_at, 0))
  return '\0' .. short(text.of(reserved_at) .. ' ' .. held), DONE .. held
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

-- Prepares all writes; nil if an item is unusual. Returns how many digests to free, how many to check first, and how many words
-- `results` holds.
local function decide(args, n, now, before, lives, raws)
  local freed, doubts, result_words, known_since, known_worker, known_client = 0, 0, 0, nil, nil, nil
  has.locks, has.members, has.routed = false, 0, 0
  local note, done, named, rest
  local how = DONE_BYTE .. pack('>I6', now)
  for i = 1, n do
    local k, live, raw = i * 2, lives[i], raws[i]
    if not live or not raw or not record_bytes.is_held(live) then return end
    local version, _, score, arrival, turn, counters, secret, nonce, since, _, _, marks, worker, stop = unpack_record(HELD, live)
    local layout, _, high, flags = unpack_record(HEAD, raw)
    local id, claim, client, digest = ids[i + 2], args[i * STRIDE - 1], record_bytes.parts(raw, flags, record_bytes.PARTS)
    if #claim > CLAIM then
      result_words = result_words + 2
      results[result_words + 1], results[result_words + 2], claim = id, sub(claim, CLAIM + 1), sub(claim, 1, CLAIM)
    end
    -- In a batch it may have an overlap.
    if high >= ROUTED and high < ROUTED + MEMBER then
      high, has.routed = high - ROUTED, has.routed + 1
      routed[has.routed] = id
    end
    if secret ~= claim or version ~= LAYOUT or layout ~= LAYOUT or high > LOCKS + MEMBER or turn >= record_bytes.UNSERVED or marks >= CLOSING then return end
    if args[i * STRIDE] == UNFIT then return end
    if high > 0 then members.note_gates(has, id, raw, high, flags) end

    if since ~= known_since then known_since, known_client, note, done = since, nil, note_of(since, now) end
    if worker ~= known_worker then known_worker, known_client, named = worker, nil, short(worker) end
    if client ~= known_client then known_client, rest = client, named .. short(client) .. note end
    local is_alone, ended_at = high < MEMBER, NEVER
    if is_alone then
      local at = (i - has.members) * 2
      to_ended[at + 1], to_ended[at + 2] = text.of(before + i), id
    else
      ended_at = pack('>d', before + i)
    end
    to_live[k + 1] = id
    to_live[k + 2] = record_bytes.complete(live, arrival, score, counters, stop, sub(claim, -8), how, since, named, ended_at)
    events[i * 3 - 2], events[i * 3 - 1], events[i * 3] = is_alone and COMPLETED or COMPLETED_IN_BATCH, id, rest
    answer[i + 2], off_held[i + 2] = done, worker .. '\0' .. nonce .. '\0' .. id
    -- A job that was handed out once was never dead, so it still owns its digest.
    if digest and counters == ONCE then
      freed = freed + 1
      off_dedupe[freed + 2] = digest
    elseif digest then
      doubts = doubts + 1
      shared_digests[doubts], digest_jobs[doubts] = digest, id
    end
  end
  return freed, doubts, result_words
end

-- Whether an expiry, an SLA, a fallback or a hand-over of any job has still to end with it.
local function has_alarms(q, n)
  for _, at in ipairs(call('ZMSCORE', q.alarms, unpack(routed, 1, n))) do
    if at then return true end
  end
  return false
end

local function leave(verb, key, n)
  ids[1], ids[2] = verb, key
  call(unpack(ids, 1, n + 2))
end

-- `found`: how many other jobs are put back into line.
local function write(q, n, result_words, freed, found)
  to_live[2], to_ended[2], off_held[2], off_dedupe[2], results[2] = q.live, q.ended, q.held, q.dedupe, q.results
  call(unpack(to_live, 1, (n + found) * 2 + 2))
  if n > has.members then call(unpack(to_ended, 1, (n - has.members) * 2 + 2)) end
  if result_words > 0 then call(unpack(results, 1, result_words + 2)) end
  if has.locks then locks.leave(q) end
  leave('ZREM', q.reserved, n)
  call(unpack(off_held, 1, n + 2))
  leave('HDEL', q.drafts, n)
  if freed > 0 then call(unpack(off_dedupe, 1, freed + 2)) end
end

return function(q, args)
  local n, now = #args / STRIDE, clock.read()
  if not read(args, n) or call('ZCOUNT', q.reserved, '-inf', text.of(now)) > 0 then return end
  local before, count, is_shared = stamp.read(q, 'completed', now, 'shared')
  -- A dedupe key with a second live twin may be one of these.
  if is_shared then return end
  local lives, raws = fields_of(q.live, ids, 3, n, one_live), fields_of(q.jobs, ids, 3, n, one_raw)
  local freed, doubts, result_words = decide(args, n, now, before, lives, raws)
  if not freed or has.locks and not locks.may_go(q) or has.routed > 0 and has_alarms(q, has.routed) then return end
  local found, over = 0, 0
  if has.members > 0 then found = members.can_complete(q, to_live, n * 2 + 2) end
  if not found then return end

  if doubts > 0 then freed = settle_doubts(q, freed, doubts) end
  write(q, n, result_words, freed, found)
  if has.members > 0 then over = members.complete(q, has.members, found, now, events, n * 3) end
  event.publish(q, n + over, events)
  hint.publish(q, found)
  stamp.write(q, before + n, 'completed', count + n)
  if over > 0 then return {'counted', {unpack(answer, 3, n + 2)}, 'completed', n, 'batch-completed', over} end
  answer[2] = text.of(n)
  return text.packed(answer, n + 2)
end
