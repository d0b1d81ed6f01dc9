-- removal: deletes a job with everything that belongs to it.
local write = require 'base/write'
local route = require 'jobs/route'
local removal = {}

-- `r` is nil for an alias, which has no live record.
function removal.delete(q, id, r)
  for _, key in ipairs({'jobs', 'payloads', 'live', 'results', 'drafts'}) do write.delete(q, key, id) end
  if route.is_used(q) then route.drop(q, id) end
  for slot = 0, math.min(r and r.late or 0, $LATE_RESULTS) - 1 do write.delete(q, 'results', id .. '\0' .. slot) end
end

return removal
