-- ending: a job is completed or cancelled. What is known of it is kept for a while; of a batch's job, as long as that.
-- USES   clock write stamp record place order batch gate baton leave dedupe event total
-- KEYS   delayed zset · dead zset · ended zset · jobs hash · payloads hash · drafts hash
local to_ended, drop_drafts = begin('ZADD', ended), begin('HDEL', drafts)
local off_delayed, off_dead = begin('ZREM', delayed), begin('ZREM', dead)
local strip_jobs, strip_payloads = begin('HSET', jobs), begin('HDEL', payloads)

local function end_job(id, r, header, state)
  local stamp = new_stamp()
  if r.score >= 0 then r.priority = priority_of(r.score) end
  give_back(r, header.client)
  enter(id, r, header, state)
  if is_member(header) then
    r.score = stamp
    total(state == COMPLETED and 'batch_completed_kept' or 'batch_cancelled_kept')
  else
    r.score = -1
    add(to_ended, digits(stamp), id)
    if state == CANCELLED then total('cancelled_kept') end
  end
  r.skips = ''
  add(drop_drafts, id)
  keep(id, r)
  free_dedupe(id, header)
end

-- A job that nobody holds leaves the set it is in; one that was in line passes the batons of its gates.
local function leave_set(id, r, header)
  if r.state == BLOCKED then
    unpark(id, r)
  elseif r.state ~= WAITING then
    add(r.state == DELAYED and off_delayed or off_dead, id)
  else
    leave_line(id, r)
    pass_batons(id, header)
  end
end

-- A job that is in no set any more; its payload goes at once.
local function cancel_job(id, r, header, worker)
  end_job(id, r, header, CANCELLED)
  add(strip_jobs, id, header.raw:sub(1, header.stop - 1))
  add(strip_payloads, id)
  event('cancelled', id, worker, header, '')
  total('cancelled')
end
