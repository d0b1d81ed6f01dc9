-- history: the reservations of a job that have ended, and how; as base/record keeps them.
local record = require 'base/record'
local clock = require 'base/clock'
-- How they may end, by name, and in ENDINGS the word for it: `How` in src/job/kind.rs.
local history = {$ENDINGS}
local ENDED = record.ENDED
local pack, unpack_record = struct.pack, struct.unpack

function history.add(q, r, lease, how, note)
  local worker = lease.worker
  local entry = pack(ENDED, lease.digest, how, clock.now(q), lease.reserved_at, #worker, worker, #note, note)
  r.history = record.remember(r.history, entry)
end

-- Where a reservation is (1 = the job's latest), how it ended, its worker, and since when they had the job; nil when it is
-- not there.
function history.find(r, digest)
  local kept, at, entry = r.history, 1, 1
  while at <= #kept do
    local entry_digest, how, _, reserved_at, worker, _, stop = unpack_record(ENDED, kept, at)
    if entry_digest == digest then return entry, how, worker, reserved_at end
    at, entry = stop, entry + 1
  end
end

-- The job's latest reservation did end, and then by a completion that came late.
function history.end_late(q, r)
  r.history = pack('>c8BI6', r.history:sub(1, 8), history.DONE_LATE, clock.now(q)) .. r.history:sub(16)
end

-- What is said of a reservation that is not live: the same call again if it ended by `how`, lost otherwise.
function history.answer(job, digest, how)
  local entry, ending = nil, nil
  if job then entry, ending = history.find(job.record, digest) end
  if not entry then return {'lost', 'unknown', ''} end
  local state = record.STATES[job.record.state]
  if ending == how or ending == history.GRACE_OVER and how == history.ABANDONED then return {'again', state} end
  return {'lost', history.ENDINGS[ending], state}
end

return history
