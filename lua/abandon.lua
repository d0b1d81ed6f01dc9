-- abandon: the holder gives the job back, now or after a grace, and it keeps its place.
--          reserved -> waiting | blocked | delayed | reserved (for the grace)
-- FLAGS  allow-oom
-- USES   clock write record batch gate baton leave dedupe ending back settle lapse draft event total commit
-- KEYS   reserved zset
-- ARGV   per item 9: id, secret, digest of the secret, reason, delay ms (0 = none), skip (0 | 1), grace ms (0 = none),
-- ARGV   how often it was resumed when this was meant (-1 = whatever), draft ('' = leave it, 'null' = remove it)
-- REPLY  per item: {'back', state} | {'again', state} | {'lost', how, state ('' = unknown)} |
-- REPLY  {'grace', 'reserved'} | {'resumed', 'reserved'}: its holder has come back since |
-- REPLY  {'unnamed'}: there is nobody to skip it | {'later'}: in the next script, as all behind it
local STRIDE = 9
read_items(STRIDE)
foresee_ends()

-- The holder has left, and may come back for as long as this. Written at once: the next item may end it.
local function leave_for_now(job, id, grace, skips)
  local r, hold = job.record, job.hold
  job.deadline = math.min(job.deadline, now + grace)
  hold.marks = bit.bor(bit.band(hold.marks, REPLAYED), GRACE, skips and SKIPS or 0)
  r.hold = pack_hold(hold)
  ask('ZADD', reserved, job.deadline, id)
  keep(id, r)
  return {'grace', STATES[r.state]}
end

local function abandon(at)
  local id, secret, digest, reason, delay = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], tonumber(ARGV[at + 4])
  local skips, grace, resumes = ARGV[at + 5] == '1', tonumber(ARGV[at + 6]), tonumber(ARGV[at + 7])
  local job = live_holder(id, secret)
  if not job then return not_live(id, digest, ABANDONED) end
  local r, worker = job.record, job.hold.worker
  if resumes >= 0 and resumes < job.hold.resumes then return {'resumed', STATES[r.state]} end
  if skips and worker == '' then return {'unnamed'} end
  -- A skip that waits for the end of a grace stands until its worker comes back, whatever their page says as it closes.
  skips = skips or is_marked_hold(job.hold, SKIPS)
  save_draft(id, worker, ARGV[at + 8])
  if grace > 0 then return leave_for_now(job, id, grace, skips) end
  r.abandoned = r.abandoned + 1
  if skips then skip(r, worker) end
  let_go(job, id, ABANDONED, reason)
  event('abandoned', id, worker, job.header, reason)
  if delay > 0 then back_to_delay(id, r, job.header, delay) else back_to_line(id, r, job.header) end
  total('abandoned')
  return {'back', STATES[r.state]}
end

local replies = each_item(STRIDE, abandon)

commit()
return counted(replies)
