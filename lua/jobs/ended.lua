-- ended: the reservations of a job that have ended, in the format of base/record.
local record = require 'base/record'
local clock = require 'base/clock'
-- Causes by name, and their words in ENDINGS: `How` in crates/intray-job/src/kind.rs.
local ended = {$ENDINGS}
local ENDED = record.ENDED
local pack, unpack_record = struct.pack, struct.unpack

function ended.add(r, lease, how, note, at)
  local worker = lease.worker
  local entry = pack(ENDED, lease.digest, how, at, lease.reserved_at, #worker, worker, #note, note)
  r.history = record.remember(r.history, entry)
end

-- Finds a reservation: its index (1 = the latest), cause, worker, reserved at, and note; nil if it is not kept.
function ended.find(r, digest)
  local kept, at, entry = r.history, 1, 1
  while at <= #kept do
    local entry_digest, how, _, reserved_at, worker, note, stop = unpack_record(ENDED, kept, at)
    if entry_digest == digest then return entry, how, worker, reserved_at, note end
    at, entry = stop, entry + 1
  end
end

-- The cause and the worker of the latest one; nil if there is none.
function ended.latest(r)
  if r.history == '' then return end
  local _, how, _, _, worker = unpack_record(ENDED, r.history)
  return how, worker
end

-- Turns the latest entry, an expiry, into a late completion.
function ended.end_late(q, r)
  r.history = pack('$ENDING_FORMAT', r.history:sub(1, $SECRET_DIGEST_SIZE), ended.DONE_LATE, clock.now(q)) .. r.history:sub($RESERVED_AT)
end

-- The reply for a reservation that is not live: `again` if it ended by `how`, `lost` otherwise.
function ended.answer(job, digest, how)
  local entry, ending = nil, nil
  if job then entry, ending = ended.find(job.record, digest) end
  if not entry then return {'lost', 'unknown', ''} end
  local state = record.STATES[job.record.state]
  if ending == how or ending == ended.GRACE_OVER and how == ended.ABANDONED then return {'again', state} end
  return {'lost', ended.ENDINGS[ending], state}
end

return ended
