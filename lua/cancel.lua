-- cancel: a producer or operator withdraws a job.   waiting | blocked | delayed | dead | reserved (force) -> cancelled
-- FLAGS  allow-oom
-- USES   clock write record place batch gate baton leave dedupe ending event total commit
-- KEYS   reserved zset · jobs hash · live hash
-- ARGV   id, force (0 | 1)
-- REPLY  {'cancelled'} | {'unknown'} | {'state', state}: completed, reserved without force, dead in a batch that is over
local id, force = ARGV[1], ARGV[2] == '1'
local record, raw = redis.call('HGET', jobs, id), redis.call('HGET', live, id)
local header = record and read_header(record)

if not header or is_stub(header) then return {'unknown'} end
local r = raw and read_live(raw) or unseen(id, header)
local overdue = r.state == RESERVED and now >= tonumber(redis.call('ZSCORE', reserved, id) or 0)
if r.state == CANCELLED then return {'cancelled'} end
local kept = r.state == DEAD and is_member(header) and is_over(read_batch(batch_of(id)))
if r.state == COMPLETED or kept or r.state == RESERVED and not overdue and not force then
  return {'state', STATES[r.state]}
end

local worker = ''
if overdue then
  run_out(id, r, read_hold(r.hold), header)
elseif r.state == RESERVED then
  local hold = read_hold(r.hold)
  worker = hold.worker
  leave(id, r, hold, ENDED_BY_CANCEL, header)
else
  leave_set(id, r, header)
end
cancel_job(id, r, header, worker)
commit()
return counted({'cancelled'})
