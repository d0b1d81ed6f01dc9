-- abandon: the holder gives the job back, and it keeps its place.   reserved -> waiting | blocked | delayed
-- FLAGS  allow-oom
-- USES   clock write record batch gate leave dedupe ending back settle lapse event total commit
-- ARGV   per item 5: id, secret, digest of the secret, reason, delay ms (0 = none)
-- REPLY  per item: {'back', state} | {'again', state} | {'lost', how, state ('' = unknown)}
local STRIDE = 5
read_items(STRIDE)

local function abandon(id, secret, digest, reason, delay)
  local job = live_holder(id, secret)
  if not job then return not_live(id, digest, ABANDONED) end
  local r, worker = job.record, job.hold.worker
  r.abandoned = r.abandoned + 1
  let_go(job, id, ABANDONED)
  event('abandoned', id, worker, job.header, reason)
  if delay > 0 then back_to_delay(id, r, job.header, delay) else back_to_line(id, r, job.header) end
  total('abandoned')
  return {'back', STATES[r.state]}
end

local replies = {}
for at = 1, #ARGV, STRIDE do
  replies[#replies + 1] = abandon(ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], tonumber(ARGV[at + 4]))
end

commit()
return replies
