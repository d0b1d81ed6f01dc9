-- cancel: a producer or operator withdraws a job.   waiting | delayed | dead | reserved (by force) -> cancelled
-- FLAGS  allow-oom
-- USES   clock write record leave dedupe event total commit
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · jobs hash · payloads hash ·
-- KEYS   live hash
-- ARGV   id, force (0 | 1)
-- REPLY  {'cancelled'} | {'unknown'} | {'state', state}: completed, or reserved without force
local id, force = ARGV[1], ARGV[2] == '1'
local record, raw = redis.call('HGET', jobs, id), redis.call('HGET', live, id)
local header = record and read_header(record)

if not header or is_stub(header) then return {'unknown'} end
local r = raw and read_live(raw) or new_live(WAITING, -1, header.priority)
local overdue = r.state == RESERVED and now >= tonumber(redis.call('ZSCORE', reserved, id))
if r.state == CANCELLED then return {'cancelled'} end
if r.state == COMPLETED or r.state == RESERVED and not overdue and not force then return {'state', STATES[r.state]} end

local worker = ''
if overdue then
  run_out(id, r, read_hold(r.hold), header)
elseif r.state == RESERVED then
  local hold = read_hold(r.hold)
  worker = hold.worker
  leave(id, r, hold, ENDED_BY_CANCEL)
end
local score = r.state == WAITING and tonumber(redis.call('ZSCORE', inbound, id)) or r.score
if score >= 0 then r.priority = math.floor(score / $SPAN) end
r.state, r.score, r.skips = CANCELLED, -1, ''
for _, key in ipairs({inbound, delayed, dead}) do redis.call('ZREM', key, id) end
free_dedupe(id, header)
redis.call('HSET', jobs, id, record:sub(1, header.stop - 1))
redis.call('HDEL', payloads, id)
redis.call('HSET', live, id, pack_live(r))
redis.call('ZADD', ended, now, id)
event('cancelled', id, worker, header.client, '')
total('cancelled')
total('cancelled_kept')
commit()
return {'cancelled'}
