-- leave: ends a reservation; shared by expiry, abandon, fail, release, cancel and complete.
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local write = require 'base/write'
local event = require 'base/event'
local total = require 'base/total'
local baton = require 'jobs/baton'
local ended = require 'jobs/ended'
local draft = require 'jobs/draft'
local skip = require 'jobs/skip'
local route = require 'jobs/route'
local routing = require 'jobs/routing'
local part = require 'jobs/part'
local leave = {}

-- `how` is nil for an undo: that reservation was never delivered, so no caller can ask about it. `at`: when it ended, nil for now.
function leave.lease(q, id, r, lease, how, header, note, at)
  write.remove(q, 'reserved', id)
  write.remove(q, 'held', record.held(lease, id))
  part.leave(q, id, r, header, lease.worker, how)
  if how then
    ended.add(r, lease, how, note or '', at or clock.now(q))
  end
  local giver = routing.leave(q, id, header, how ~= nil)
  if giver then draft.inherit(q, id, giver, lease) end
  route.forget_uncut(q, id, header)
  r.lease = ''
  if record.is_gated(header) then baton.free_gates(q, id, header) end
end

-- Ends a reservation at its deadline, which counts an attempt, or at the end of a grace, which counts as abandoned. `is_over`: the job
-- itself has expired, so a grace does not matter.
function leave.by_time(q, id, r, lease, header, is_over)
  -- The note distinguishes a late completion from one that was sent before its worker took an earlier one back.
  local undone = record.undone_at(lease)
  local note = undone > 0 and text.of(undone) or ''
  if not is_over and record.is_marked(lease, record.GRACE) then
    r.abandoned = r.abandoned + 1
    local skips = record.is_marked(lease, record.SKIPS)
    if skips then skip.add(r, lease.worker) end
    leave.lease(q, id, r, lease, ended.GRACE_OVER, header, note)
    event.add(q, 'abandoned', id, lease.worker, header, event.own_reason('grace', skips))
    return total.count(q, 'abandoned')
  end
  r.expired, r.attempts = r.expired + 1, r.attempts + 1
  leave.lease(q, id, r, lease, ended.EXPIRED, header, note)
  event.add(q, 'expired', id, lease.worker, header, '')
  total.count(q, 'expired')
end

return leave
