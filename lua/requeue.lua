-- requeue: an operator gives dead jobs another life, or runs a delayed one now.   dead | delayed -> waiting | blocked
-- FLAGS  allow-oom
-- USES   clock write record place batch gate order event total commit
-- KEYS   inbound zset · delayed zset · dead zset · jobs hash · live hash · dedupe hash
-- ARGV   'job' id | 'queue' died until (a stamp; 0 = now), how many of the dead to pass over (their batch is over)
-- REPLY  {'requeued', n, more (0 | 1), died until (a stamp), passed over} | {'unknown'} |
-- REPLY  {'state', state}: completed, cancelled, or dead in a batch that is over or cancelled
local MOST = 200
local ids, last, passed = {ARGV[2]}, last_stamp(), tonumber(ARGV[3] or 0)

if ARGV[1] == 'queue' then
  if ARGV[2] ~= '0' then last = tonumber(ARGV[2]) end
  ids = redis.call('ZRANGEBYSCORE', dead, '-inf', digits(last), 'LIMIT', passed, MOST)
  if #ids == 0 then return {'requeued', 0, 0, last, passed} end
end
local records, headers = redis.call('HMGET', live, unpack(ids)), redis.call('HMGET', jobs, unpack(ids))
if not headers[1] or is_stub(read_header(headers[1])) then return {'unknown'} end

-- Dead for good: its batch is over, or called off.
local function is_kept(id, r, header)
  local b = r.state == DEAD and is_member(header) and read_batch(batch_of(id))
  return b and (is_over(b) or is_marked(b, TO_CANCEL))
end

if ARGV[1] == 'job' and records[1] then
  local r = read_live(records[1])
  if r.state == COMPLETED or r.state == CANCELLED or is_kept(ids[1], r, read_header(headers[1])) then
    return {'state', STATES[r.state]}
  end
end

local leave_dead, leave_delayed, to_inbound = begin('ZREM', dead), begin('ZREM', delayed), begin('ZADD', inbound)
local requeued = 0

-- Its dedupe key again, if nobody has taken it since.
local function revive(id, r, header)
  if header.digest then redis.call('HSETNX', dedupe, header.digest, id) end
  r.attempts, r.skips = 0, ''
  arrive(r, r.score < 0 and r.priority or priority_of(r.score), header.client)
  add(leave_dead, id)
  event('requeued', id, '', header, '')
  total('requeued')
end

local function run_now(id, r, header)
  if r.score < 0 then arrive(r, r.priority, header.client) end
  add(leave_delayed, id)
  event('due', id, '', header, '')
end

for i, id in ipairs(ids) do
  local r, header = records[i] and read_live(records[i]), read_header(headers[i])
  if r and is_kept(id, r, header) then
    passed = passed + 1
  elseif r and (r.state == DEAD or r.state == DELAYED) then
    if r.state == DEAD then revive(id, r, header) else run_now(id, r, header) end
    if is_gated(header) then
      line_up(id, r, header)
    else
      r.state = WAITING
      add(to_inbound, r.score, in_line(id, r.arrival))
      became_ready(1)
      keep(id, r, header)
    end
    requeued = requeued + 1
  end
end

commit()
return counted({'requeued', requeued, #ids >= MOST and 1 or 0, last, passed})
