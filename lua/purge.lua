-- purge: an operator removes the jobs of one state, a bounded step at a time.   any -> gone
-- FLAGS  allow-oom
-- USES   clock write record leave dedupe gone event total commit
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · jobs hash · live hash
-- ARGV   state, or 'stub' for what remembers an idempotent enqueue that met a twin; how many at the front of the set to pass over (they were looked at before and have another state)
-- REPLY  {removed, passed over, more (0 | 1)}
local STEP = 200
local STATE, from = ARGV[1], tonumber(ARGV[2])
local SETS = {
  waiting = inbound, delayed = delayed, dead = dead, reserved = reserved, completed = ended, cancelled = ended, stub = ended,
}
local set = SETS[STATE]
local leave_set, removed, passed = begin('ZREM', set), 0, 0

local ids = redis.call('ZRANGE', set, from, from + STEP - 1)
if #ids == 0 then return {0, from, 0} end

local function remove(id, r, header)
  local worker = ''
  if r and r.hold ~= '' then
    local hold = read_hold(r.hold)
    worker = hold.worker
    leave(id, r, hold, nil)
  end
  free_dedupe(id, header)
  gone(id, r)
  add(leave_set, id)
  removed = removed + 1
  if not r and set == ended then total('stubs', -1) end
  if r and r.state == CANCELLED then total('cancelled_kept', -1) end
  if set ~= ended then
    event('cancelled', id, worker, header.client, '')
    total('cancelled')
  end
end

local records, headers = redis.call('HMGET', live, unpack(ids)), redis.call('HMGET', jobs, unpack(ids))
for i, id in ipairs(ids) do
  local r, header = records[i] and read_live(records[i]), read_header(headers[i])
  local what = is_stub(header) and 'stub' or STATES[r and r.state or WAITING]
  if what == STATE then remove(id, r, header) else passed = passed + 1 end
end

commit()
return {removed, from + passed, #ids >= STEP and 1 or 0}
