-- lapse: what is overdue and not yet swept expires where somebody meets it, and nobody's call revives it.
-- USES   clock back settle
-- The job, if `secret` is live. One that is overdue and not yet swept expires here.
local function live_holder(id, secret)
  local job = holder(id, secret)
  if not job then return end
  if now < job.deadline then return job end
  expire(id, job.record, job.hold, job.header)
  job.hold = nil
end

-- The answer for a reservation that is not live: the same call again if it ended by `how`, lost otherwise.
local function not_live(id, digest, how)
  local job = found[id]
  local entry, ending = nil, nil
  if job then entry, ending = recall(job.record.ring, digest) end
  if not entry then return {'lost', 'unknown', ''} end
  local state = STATES[job.record.state]
  if ending == how or ending == GRACE_OVER and how == ABANDONED then return {'again', state} end
  return {'lost', ENDINGS[ending], state}
end
