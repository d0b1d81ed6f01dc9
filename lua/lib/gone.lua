-- gone: a job and all that belongs to it leaves Redis.
-- USES   write
-- KEYS   jobs hash · payloads hash · live hash · results hash · drafts hash
local drop_jobs, drop_payloads, drop_live = begin('HDEL', jobs), begin('HDEL', payloads), begin('HDEL', live)
local drop_results, drop_draft = begin('HDEL', results), begin('HDEL', drafts)

local function gone(id, r)
  add(drop_jobs, id)
  add(drop_payloads, id)
  add(drop_live, id)
  add(drop_results, id)
  add(drop_draft, id)
  for slot = 0, math.min(r and r.late or 0, $LATE_RESULTS) - 1 do add(drop_results, id .. '\0' .. slot) end
end
