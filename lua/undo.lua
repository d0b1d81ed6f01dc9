-- undo: the caller of a reserve is gone, so what it newly reserved was never delivered.   reserved -> waiting
-- FLAGS  allow-oom
-- USES   clock write record leave dedupe back settle event total commit
-- ARGV   per item 2: id, nonce of the call
-- REPLY  per item: {'undone'} | {'kept'}: another call has it, or it has ended
local STRIDE = 2
read_items(STRIDE)

local function undo(id, nonce)
  local job = found[id]
  local hold = job and job.hold
  if not hold or hold.nonce ~= nonce or hold.resumes > 0 or hold.marks > 0 then return {'kept'} end
  local worker = hold.worker
  job.record.handed_out = job.record.handed_out - 1
  let_go(job, id, nil)
  back_to_line(id, job.record)
  event('abandoned', id, worker, job.header.client, 'undelivered')
  return {'undone'}
end

local replies = {}
for at = 1, #ARGV, STRIDE do replies[#replies + 1] = undo(ARGV[at], ARGV[at + 1]) end

commit()
return replies
