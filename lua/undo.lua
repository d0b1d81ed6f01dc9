-- undo: the caller of a reserve is gone, so what it newly reserved was never delivered.   reserved -> waiting | blocked
-- FLAGS  allow-oom
-- USES   clock write record batch gate baton leave dedupe ending back settle event total commit
-- ARGV   per item 2: id, secret of the reservation that was never delivered
-- REPLY  per item: {'undone'} | {'kept'}: another call has it, or it has ended | {'later'}: in the next script
local STRIDE = 2
read_items(STRIDE)
foresee_ends()

local function undo(at)
  local id, secret = ARGV[at], ARGV[at + 1]
  local job = holder(id, secret)
  if not job or job.hold.resumes > 0 or job.hold.marks > 0 then return {'kept'} end
  local worker = job.hold.worker
  job.record.handed_out = job.record.handed_out - 1
  let_go(job, id, nil)
  event('abandoned', id, worker, job.header, 'undelivered')
  back_to_line(id, job.record, job.header)
  return {'undone'}
end

local replies = each_item(STRIDE, undo)

commit()
return counted(replies)
