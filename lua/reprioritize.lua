-- reprioritize: an operator changes how urgent a job is; a reserved one has it on its return.
--        waiting | blocked | reserved | delayed, blocked -> waiting if it has come before others
-- FLAGS  allow-oom
-- USES   clock write record place batch gate baton order event total commit
-- KEYS   jobs hash · live hash
-- ARGV   id, priority
-- REPLY  {'changed', state} | {'unknown'} | {'state', state}: the job has ended
local id, priority = ARGV[1], tonumber(ARGV[2])
local record, raw = redis.call('HGET', jobs, id), redis.call('HGET', live, id)
local header = record and read_header(record)

if not header or is_stub(header) then return {'unknown'} end
local r = raw and read_live(raw) or unseen(id, header)
if r.state == COMPLETED or r.state == DEAD or r.state == CANCELLED then return {'state', STATES[r.state]} end
local before = r.score < 0 and r.priority or priority_of(r.score)
if before == priority then return {'changed', STATES[r.state]} end

local gate = r.gate
if r.state == BLOCKED then unpark(id, r) end
if r.state == WAITING then leave_line(id, r) end
r.priority = priority
if r.score >= 0 then arrive(r, priority, header.client) end
keep(id, r)
if r.state == WAITING then
  enter_line(id, r)
  -- Somebody who is parked at one of its gates may be before it now.
  if is_gated(header) then pass_batons(id, header) end
elseif r.state == BLOCKED then
  park(id, r, header, gate)
  -- If it is the first one there now, and there is room, it is the one to be put back.
  if id_of(first_parked(gate)) == id then pass_baton(gate) end
end
event('changed', id, '', header, '')
commit()
return counted({'changed', STATES[r.state]})
