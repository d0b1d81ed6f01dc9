-- purge: an operator removes the jobs of one state, a bounded step at a time; those of a batch, which counts them, are
--        cancelled instead.   any -> gone | cancelled
-- FLAGS  allow-oom
-- USES   clock write record place order batch gate leave dedupe ending gone event total commit
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · jobs hash ·
-- KEYS   live hash
-- ARGV   state, or 'stub' for what remembers an idempotent enqueue that met a twin; how many at the front of the set to
-- ARGV   pass over (looked at before: they have another state, or are dead in a batch that is over)
-- REPLY  {removed, passed over, more (0 | 1)}
local STEP = 200
local STATE, from = ARGV[1], tonumber(ARGV[2])
local SETS = {
  waiting = inbound, blocked = parked, delayed = delayed, dead = dead, reserved = reserved, completed = ended,
  cancelled = ended, stub = ended,
}
local set = SETS[STATE]
local leave_ended, removed, passed = begin('ZREM', ended), 0, 0

local ids = redis.call('ZRANGE', set, from, from + STEP - 1)
if #ids == 0 then return {0, from, 0} end
for i, member in ipairs(ids) do ids[i] = id_of(member) end

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

local records, headers = redis.call('HMGET', live, unpack(ids)), redis.call('HMGET', jobs, unpack(ids))
for i, id in ipairs(ids) do
  local r, header = records[i] and read_live(records[i]), read_header(headers[i])
  local what = is_stub(header) and 'stub' or STATES[r and r.state or WAITING]
  if what ~= STATE or what == 'dead' and is_member(header) and is_over(read_batch(batch_of(id))) then
    passed = passed + 1
  else
    if set == ended then forget_ended(id, r) else remove(id, r or unseen(id, header), header) end
    removed = removed + 1
  end
end

commit()
return counted({removed, from + passed, #ids >= STEP and 1 or 0})
