-- leave: a reservation ends. What expiry, abandon, fail, release, cancel and complete share.
-- USES   clock write record gate baton skip event total
-- KEYS   reserved zset · held zset
local EXPIRED, ABANDONED, FAILED, RELEASED, ENDED_BY_CANCEL, DONE, DONE_LATE, GRACE_OVER = 1, 2, 3, 4, 5, 6, 7, 8
local ENDINGS = {
  'expired', 'abandoned', 'failed', 'released', 'cancelled', 'completed', 'completed', 'abandoned',
}
local RING = 5
local leave_reserved, leave_held = begin('ZREM', reserved), begin('ZREM', held)

-- The last five ended reservations, newest first: digest, how, when, since when, worker, what was said of it.
local ENDED = '>c8BI6I6Bc0I2c0'

local function remember(ring, hold, how, note)
  local stop, entries = 1, 1
  while stop <= #ring and entries < RING do
    local _, _, _, _, _, _, next_stop = struct.unpack(ENDED, ring, stop)
    stop, entries = next_stop, entries + 1
  end
  local ended = struct.pack(ENDED, hold.digest, how, now, hold.reserved_at, #hold.worker, hold.worker, #note, note)
  return ended .. ring:sub(1, stop - 1)
end

-- Where in the ring a reservation is (1 = the job's latest), how it ended, its worker, and since when they had the job;
-- nil when it is not there.
local function recall(ring, digest)
  local at, entry = 1, 1
  while at <= #ring do
    local entry_digest, how, _, reserved_at, worker, _, stop = struct.unpack(ENDED, ring, at)
    if entry_digest == digest then return entry, how, worker, reserved_at end
    at, entry = stop, entry + 1
  end
end

-- The job's latest reservation did end, and then by a completion that came late.
local function ended_late(ring)
  return struct.pack('>c8BI6', ring:sub(1, 8), DONE_LATE, now) .. ring:sub(16)
end

-- `how` is nil for an undo: such a reservation was never delivered, so nobody can ask for it.
local function leave(id, r, hold, how, header, note)
  add(leave_reserved, id)
  add(leave_held, held_member(hold, id))
  if how then r.ring = remember(r.ring, hold, how, note or '') end
  r.hold = ''
  if is_gated(header) then free_gates(id, header) end
end

local function is_marked_hold(hold, mark)
  return bit.band(hold.marks, mark) ~= 0
end

-- A reservation ends by its deadline, which counts an attempt; or by the end of a grace, which counts as abandoned.
local function run_out(id, r, hold, header)
  if is_marked_hold(hold, GRACE) then
    r.abandoned = r.abandoned + 1
    if is_marked_hold(hold, SKIPS) then skip(r, hold.worker) end
    leave(id, r, hold, GRACE_OVER, header)
    event('abandoned', id, hold.worker, header, 'grace')
    return total('abandoned')
  end
  r.expired, r.attempts = r.expired + 1, r.attempts + 1
  leave(id, r, hold, EXPIRED, header)
  event('expired', id, hold.worker, header, '')
  total('expired')
end
