-- leave: a reservation ends. What expiry, abandon, fail, release, cancel and complete share.
local record = require 'base/record'
local write = require 'base/write'
local event = require 'base/event'
local total = require 'base/total'
local baton = require 'jobs/baton'
local history = require 'jobs/history'
local skip = require 'jobs/skip'
local leave = {}

-- `how` is nil for an undo: such a reservation was never delivered, so nobody can ask for it.
function leave.lease(q, id, r, lease, how, header, note)
  write.remove(q, 'reserved', id)
  write.remove(q, 'held', record.held(lease, id))
  if how then history.add(q, r, lease, how, note or '') end
  r.lease = ''
  if record.is_gated(header) then baton.free_gates(q, id, header) end
end

-- A reservation ends by its deadline, which counts an attempt; or by the end of a grace, which counts as abandoned.
function leave.by_time(q, id, r, lease, header)
  if record.is_marked(lease, record.GRACE) then
    r.abandoned = r.abandoned + 1
    if record.is_marked(lease, record.SKIPS) then skip.add(r, lease.worker) end
    leave.lease(q, id, r, lease, history.GRACE_OVER, header)
    event.tell(q, 'abandoned', id, lease.worker, header, 'grace')
    return total.count(q, 'abandoned')
  end
  r.expired, r.attempts = r.expired + 1, r.attempts + 1
  leave.lease(q, id, r, lease, history.EXPIRED, header)
  event.tell(q, 'expired', id, lease.worker, header, '')
  total.count(q, 'expired')
end

return leave
