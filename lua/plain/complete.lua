-- complete: where nothing is unusual. Each item is its holder's, in time, and of no gate.
local text = require 'base/text'
local clock = require 'base/clock'
local patch = require 'base/patch'
local event = require 'base/event'
local total = require 'base/total'
local stamp = require 'base/stamp'
local commit = require 'base/commit'
local history = require 'jobs/history'
local STRIDE = 4
local COMPLETED, DONE, DONE_BYTE = text.short('completed'), text.words('done', 0), text.bytes[history.DONE]
local call, pack, unpack_since, unpack, sub, max = redis.call, struct.pack, struct.unpack, unpack, string.sub, math.max
-- Room for the list, kept between calls: of each, only as much is read as this call has written.
local ids, digests, owners, results = {}, {}, {}, {'HSET'}
local to_live, to_ended, off_reserved, off_held = {'HSET'}, {'ZADD'}, {'ZREM'}, {'ZREM'}
local off_drafts, off_dedupe = {'HDEL'}, {'HDEL'}

-- The records of a list in which all is plain, and how many; nil for another.
local function read(q, args)
  local n = #args / STRIDE
  local met = n > 1 and {}
  for i = 1, n do
    local id = args[i * STRIDE - 3]
    if met then
      if met[id] then return end
      met[id] = true
    end
    ids[i] = id
  end
  if call('ZCOUNT', q.reserved, '-inf', text.of(clock.now(q))) > 0 then return end
  local lives, raws = call('HMGET', q.live, unpack(ids, 1, n)), call('HMGET', q.jobs, unpack(ids, 1, n))
  for i = 1, n do
    local live, raw = lives[i], raws[i]
    if not live or not raw or not patch.is_held_by(live, args[i * STRIDE - 2]) or not patch.has_no_gate(raw) then return end
  end
  return n, lives, raws
end

-- The keys of those that have one; who has taken a key of theirs meanwhile keeps it.
local function free_dedupe(q, n)
  if n == 0 then return end
  local freed = 2
  for i, owner in ipairs(call('HMGET', q.dedupe, unpack(digests, 1, n))) do
    if owner == owners[i] then
      freed = freed + 1
      off_dedupe[freed] = digests[i]
    end
  end
  off_dedupe[2] = q.dedupe
  if freed > 2 then call(unpack(off_dedupe, 1, freed)) end
end

local function write(q, n, said)
  to_live[2], to_ended[2], off_reserved[2], off_held[2], off_drafts[2] = q.live, q.ended, q.reserved, q.held, q.drafts
  call(unpack(to_live, 1, n * 2 + 2))
  call(unpack(to_ended, 1, n * 2 + 2))
  if said > 2 then
    results[2] = q.results
    call(unpack(results, 1, said))
  end
  call(unpack(off_reserved, 1, n + 2))
  call(unpack(off_held, 1, n + 2))
  call(unpack(off_drafts, 1, n + 2))
end

-- What the event says: since when the worker had it, and how long.
local function held_note(now, since)
  local reserved_at = unpack_since('>I6', since)
  return '\0' .. text.short(text.of(reserved_at) .. ' ' .. text.of(max(now - reserved_at, 0)))
end

return function(q, args)
  local n, lives, raws = read(q, args)
  if not n then return end

  local now, keys, said, replies, tale = clock.now(q), 0, 2, {}, q.tale
  local how, ended, known, note = DONE_BYTE .. pack('>I6', now), stamp.take(q, n) - 1, nil, nil
  for i = 1, n do
    local id, raw, k, result = ids[i], raws[i], i * 2 + 1, args[i * STRIDE]
    local worker, nonce, since = patch.lease(lives[i])
    to_live[k], to_live[k + 1] = id, patch.complete(lives[i], args[i * STRIDE - 1] .. how .. since .. worker .. '\0\0')
    to_ended[k], to_ended[k + 1] = text.of(ended + i), id
    off_reserved[i + 2], off_held[i + 2], off_drafts[i + 2] = id, sub(worker, 2) .. '\0' .. nonce .. '\0' .. id, id
    if result ~= '' then results[said + 1], results[said + 2], said = id, result, said + 2 end
    local digest = patch.digest(raw)
    if digest then digests[keys + 1], owners[keys + 1], keys = digest, id, keys + 1 end
    if since ~= known then known, note = since, held_note(now, since) end
    tale[i] = COMPLETED .. id .. worker .. patch.client(raw) .. note
    replies[i] = DONE
  end
  write(q, n, said)
  free_dedupe(q, keys)
  event.told(q, 'completed', n)
  total.count(q, 'completed', n)
  return commit(q, replies)
end
