-- purge: an operator removes the jobs of one state, a bounded step at a time; those of a batch, which counts them, are
--        cancelled instead.   any -> gone | cancelled
-- FLAGS  allow-oom
-- USES   clock write record place order batch gate baton leave dedupe ending gone search event total commit
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · jobs hash ·
-- KEYS   live hash
-- ARGV   state, or 'ended' for all that has ended, with what remembers an idempotent enqueue that met a twin; client
-- ARGV   ('' = any), batch ('' = any), what an error contains ('' = whatever); score and member of the last one that
-- ARGV   stays ('' = from the front)
-- REPLY  {removed, more (0 | 1), score and member of the last one that stays: it has another state, is not meant, or is
-- REPLY  dead in a batch that is over}
local STEP = 200
local STATE, client, batch, text, score, member = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local SETS = {
  waiting = inbound, blocked = parked, delayed = delayed, dead = dead, reserved = reserved, completed = ended,
  cancelled = ended, ended = ended,
}
local set = SETS[STATE]
local leave_ended, strays, removed = begin('ZREM', ended), begin('ZREM', set), 0

local from = rank_behind(set, score, member)
local entries, ids = redis.call('ZRANGE', set, from, from + STEP - 1, 'WITHSCORES'), {}
if #entries == 0 then return {0, 0, score, member} end
for i = 1, #entries, 2 do ids[#ids + 1] = id_of(entries[i]) end

local function forget_ended(id, r)
  gone(id, r)
  add(leave_ended, id)
  if not r then total('stubs', -1) elseif r.state == CANCELLED then total('cancelled_kept', -1) end
end

local function remove(id, r, header)
  local worker = ''
  if r.hold ~= '' then
    local hold = read_hold(r.hold)
    worker = hold.worker
    leave(id, r, hold, is_member(header) and ENDED_BY_CANCEL or nil, header)
  else
    leave_set(id, r, header)
  end
  if is_member(header) then return cancel_job(id, r, header, worker) end
  give_back(r, header.client)
  free_dedupe(id, header)
  gone(id, r)
  event('cancelled', id, worker, header, '')
  total('cancelled')
end

-- A waiting job without a live record has its place in the set.
local function record_of(raw, header, place)
  if raw then return read_live(raw) end
  if is_stub(header) then return end
  return new_live(WAITING, set == inbound and tonumber(place) or -1, header.priority, header.stamp)
end

local function stays(id, r, header)
  local what = is_stub(header) and 'stub' or STATES[r.state]
  if what ~= STATE and STATE ~= 'ended' then return true end
  if what == 'dead' and is_member(header) and is_over(read_batch(batch_of(id))) then return true end
  return not is_meant(id, header, r or {errors = ''}, client, batch, text)
end

local records, headers = redis.call('HMGET', live, unpack(ids)), redis.call('HMGET', jobs, unpack(ids))
local those, more = {}, #ids >= STEP
for i, id in ipairs(ids) do those[i] = headers[i] and {id = id, header = read_header(headers[i])} end
foresee_gates(those)
for i, id in ipairs(ids) do
  local is_cut = is_spent()
  if is_cut then
    more = true
    break
  end
  local header = those[i] and those[i].header
  local r = header and record_of(records[i], header, entries[i * 2])
  if not header then
    add(strays, entries[i * 2 - 1])
  elseif stays(id, r, header) then
    score, member = entries[i * 2], entries[i * 2 - 1]
  else
    if set == ended then forget_ended(id, r) else remove(id, r, header) end
    removed = removed + 1
  end
end

commit()
return counted({removed, more and 1 or 0, score, member})
