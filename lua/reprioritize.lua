-- reprioritize: an operator changes how urgent a job is; a reserved one has it on its return.   waiting | reserved | delayed
-- FLAGS  allow-oom
-- USES   write record order event
-- KEYS   inbound zset · jobs hash · live hash
-- ARGV   id, priority
-- REPLY  {'changed', state} | {'unknown'} | {'state', state}: the job has ended
local id, priority = ARGV[1], tonumber(ARGV[2])
local record, raw = redis.call('HGET', jobs, id), redis.call('HGET', live, id)
local header = record and read_header(record)

if not header or is_stub(header) then return {'unknown'} end
local r = raw and read_live(raw) or new_live(WAITING, tonumber(redis.call('ZSCORE', inbound, id)), header.priority)
if r.state == COMPLETED or r.state == DEAD or r.state == CANCELLED then return {'state', STATES[r.state]} end
local before = r.score < 0 and r.priority or priority_of(r.score)
if before == priority then return {'changed', STATES[r.state]} end

r.priority = priority
if r.score >= 0 then r.score = new_place(priority, header.client) end
if r.state == WAITING then redis.call('ZADD', inbound, r.score, id) end
if raw then redis.call('HSET', live, id, pack_live(r)) end
write_order(0)
event('changed', id, '', header.client, '')
write_events()
return {'changed', STATES[r.state]}
