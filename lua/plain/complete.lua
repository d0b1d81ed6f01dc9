-- complete: where nothing is unusual. Each item is its holder's, in time, of no batch, and nobody waits for its locks.
local record = require 'base/record'
local text = require 'base/text'
local clock = require 'base/clock'
local patch = require 'base/patch'
local history = require 'jobs/history'
local books = require 'plain/books'
local fields_of = require 'plain/fields'
local gates = require 'plain/gates'
local STRIDE = 2
local NOBODY = {}
local CLAIM, LAYOUT, HEAD, HELD, ONCE = $ID_LEN + 8, record.LAYOUT, patch.HEAD, patch.HELD, patch.ONCE
local LOCKS = record.LOCKS / 256
local COMPLETED, DONE, DONE_BYTE = text.short('completed'), text.words('done', 0, ''), text.bytes[history.DONE]
local call, pack, unpack_record, unpack, sub, max = redis.call, struct.pack, struct.unpack, unpack, string.sub, math.max
local short = text.short
-- Room for the list, kept between calls: of each, only as much is read as this call has written. `ids` is a command, too:
-- they leave what its first two words say.
local ids, to_live, to_ended, off_held, off_dedupe = {}, {'HSET'}, {'ZADD'}, {'ZREM'}, {'HDEL'}
local tale, results, one_live, one_raw = {COMPLETED}, {'HSET'}, {}, {}
-- Digests of which somebody else may have become the owner.
local doubted, owners = {}, {}
-- What was counted, and of each item what is said of it.
local answer = {'completed'}

-- The ids of a list in which nobody is twice.
local function read(args, n)
  local met = n > 1 and {} or NOBODY
  for i = 1, n do
    local id = args[i * 2 - 1]
    if met[id] then return false end
    ids[i + 2] = id
    if n > 1 then met[id] = true end
  end
  return true
end

-- What the event notes, and the head of the next: since when the worker had it, and how long. And what is said of that.
local function note_of(since, now)
  local reserved_at = unpack_record('>I6', since)
  local held = text.of(max(now - reserved_at, 0))
  return '\0' .. short(text.of(reserved_at) .. ' ' .. held) .. COMPLETED, DONE .. held
end

-- Who has taken a key meanwhile keeps it. Answers how many are to be freed.
local function settle_doubts(q, freed, n)
  for i, owner in ipairs(call('HMGET', q.dedupe, unpack(doubted, 1, n))) do
    if owner == owners[i] then
      freed = freed + 1
      off_dedupe[freed + 2] = doubted[i]
    end
  end
  return freed
end

-- Prepares all that is written; nil where something is not plain. Answers how many keys of jobs are to be freed, how many
-- of others may be, how many results there are, and whether any job has locks.
local function decide(args, n, now, before, lives, raws)
  local freed, doubts, said, is_locked, known_since, known_worker, known_client = 0, 0, 0, false, nil, nil, nil
  local note, done, named, rest
  local how = DONE_BYTE .. pack('>I6', now)
  for i = 1, n do
    local k, live, raw = i * 2, lives[i], raws[i]
    if not live or not raw or not patch.is_held(live) then return end
    local version, _, score, arrival, turn, counters, secret, nonce, since, _, _, _, worker, stop = unpack_record(HELD, live)
    local layout, _, high, flags = unpack_record(HEAD, raw)
    local id, claim, client, digest = ids[i + 2], args[k], patch.parts(raw, flags, patch.PARTS)
    if #claim > CLAIM then
      said = said + 2
      results[said + 1], results[said + 2], claim = id, sub(claim, CLAIM + 1), sub(claim, 1, CLAIM)
    end
    if secret ~= claim or version ~= LAYOUT or layout ~= LAYOUT or high > LOCKS or turn >= patch.UNSERVED then return end
    if high == LOCKS then
      is_locked = is_locked or gates.open()
      gates.note(id, raw, flags, patch.PARTS)
    end

    if since ~= known_since then known_since, known_client, note, done = since, nil, note_of(since, now) end
    if worker ~= known_worker then known_worker, known_client, named = worker, nil, short(worker) end
    if client ~= known_client then known_client, rest = client, named .. short(client) .. note end
    to_live[k + 1], to_ended[k + 2], tale[k], tale[k + 1] = id, id, id, rest
    to_live[k + 2] = patch.complete(live, arrival, score, counters, stop, sub(claim, -8), how, since, named)
    answer[i + 2] = done
    to_ended[k + 1], off_held[i + 2] = text.of(before + i), worker .. '\0' .. nonce .. '\0' .. id
    -- Who is out for the first time was never dead, so nobody can have taken their key.
    if digest and counters == ONCE then
      freed = freed + 1
      off_dedupe[freed + 2] = digest
    elseif digest then
      doubts = doubts + 1
      doubted[doubts], owners[doubts] = digest, id
    end
  end
  return freed, doubts, said, is_locked
end

local function leave(verb, key, n)
  ids[1], ids[2] = verb, key
  call(unpack(ids, 1, n + 2))
end

local function write(q, n, said, freed, is_locked)
  to_live[2], to_ended[2], off_held[2], off_dedupe[2], results[2] = q.live, q.ended, q.held, q.dedupe, q.results
  call(unpack(to_live, 1, n * 2 + 2))
  call(unpack(to_ended, 1, n * 2 + 2))
  if said > 0 then call(unpack(results, 1, said + 2)) end
  if is_locked then gates.leave(q) end
  leave('ZREM', q.reserved, n)
  call(unpack(off_held, 1, n + 2))
  leave('HDEL', q.drafts, n)
  if freed > 0 then call(unpack(off_dedupe, 1, freed + 2)) end
end

return function(q, args)
  local n, now = #args / STRIDE, clock.read()
  if not read(args, n) or call('ZCOUNT', q.reserved, '-inf', text.of(now)) > 0 then return end
  local before, count, is_shared = books.read(q, 'completed', now, 'shared')
  -- Somebody stands behind a dedupe key, and it may be one of these.
  if is_shared then return end
  local lives, raws = fields_of(q.live, ids, 3, n, one_live), fields_of(q.jobs, ids, 3, n, one_raw)
  local freed, doubts, said, is_locked = decide(args, n, now, before, lives, raws)
  if not freed or is_locked and not gates.may_go(q) then return end

  if doubts > 0 then freed = settle_doubts(q, freed, doubts) end
  write(q, n, said, freed, is_locked)
  books.tell(q, tale, n, 0)
  books.write(q, 'completed', before + n, count + n)
  answer[2] = text.of(n)
  return text.packed(answer, n + 2)
end
