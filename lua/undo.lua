-- undo: the caller of a reserve is gone, so what it newly reserved was never delivered.   reserved -> waiting | blocked
-- FLAGS  allow-oom
-- USES   clock write record batch gate leave dedupe ending back settle event total commit
-- ARGV   per item 2: id, secret of the reservation that was never delivered
-- REPLY  per item: {'undone'} | {'kept'}: another call has it, or it has ended
local STRIDE = 2
read_items(STRIDE)

local function undo(id, secret)
  local job = holder(id, secret)
  if not job or job.hold.resumes > 0 or job.hold.marks > 0 then return {'kept'} end
  local worker = job.hold.worker
  job.record.handed_out = job.record.handed_out - 1
  let_go(job, id, nil)
  event('abandoned', id, worker, job.header, 'undelivered')
  back_to_line(id, job.record, job.header)
  return {'undone'}
end

local replies = {}
for at = 1, #ARGV, STRIDE do replies[#replies + 1] = undo(ARGV[at], ARGV[at + 1]) end

commit()
return counted(replies)
