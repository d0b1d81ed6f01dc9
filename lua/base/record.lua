-- record: the two records of a job. `jobs` holds what enqueue said and is written once; `live` holds all that changes.
-- Both begin with the layout's number. Formats come from
-- crates/intray-store/src/record_fields.rs; crates/intray-store/src/layout/record.rs decodes them.
local LAYOUT = $LAYOUT
local record = {
  -- The states by name, and their words in STATES: crates/intray-job/src/state.rs.
  $STATES,
  -- Flags of a job's record: the parts that it has.
  $RECORD_FLAGS,
  -- Marks of a lease: crates/intray-store/src/record_fields/lease_marks.rs.
  $LEASE_MARKS,
}
local CLIENT, DIGEST, FINGERPRINT, LEASE = record.CLIENT, record.DIGEST, record.FINGERPRINT, record.LEASE
local ATTEMPTS, BACKOFF, TRACE, LOCKS = record.ATTEMPTS, record.BACKOFF, record.TRACE, record.LOCKS
local MEMBER, ROUTED = record.MEMBER, record.ROUTED
local HEAD_SIZE = $FLAGS_AT - 1 -- of layout and stamp, which stand before the tail
local band, pack, unpack = bit.band, struct.pack, struct.unpack

local function expect_layout(version)
  if version ~= LAYOUT then error('a record has layout ' .. version .. ', and this script reads ' .. LAYOUT, 0) end
end

-- The locks that begin there, and where they end.
local function locks_at(raw, stop)
  local locks, count = {}, raw:byte(stop)
  stop = stop + 1
  for i = 1, count do locks[i], stop = unpack('$LONG_FORMAT', raw, stop) end
  return locks, stop
end

-- Adds the parts that few jobs have. Returns where they end.
local function read_rare(header, raw, flags, stop)
  if band(flags, LEASE) ~= 0 then header.lease_ms, stop = unpack('>I$LEASE_MS_SIZE', raw, stop) end
  if band(flags, ATTEMPTS) ~= 0 then header.max_attempts, stop = unpack('>I$MAX_ATTEMPTS_SIZE', raw, stop) end
  if band(flags, BACKOFF) ~= 0 then
    header.backoff, header.backoff_delay, header.backoff_max, stop = unpack('$BACKOFF_FORMAT', raw, stop)
  end
  if band(flags, TRACE) ~= 0 then stop = stop + $TRACE_SIZE end
  if band(flags, LOCKS) ~= 0 then header.locks, stop = locks_at(raw, stop) end
  return stop
end

-- The header of a record whose parts begin at `stop`.
local function header_of(raw, stamp, flags, priority, stop)
  local client, digest, fingerprint = '', nil, nil
  if flags % (CLIENT * 2) >= CLIENT then client, stop = unpack('$SHORT_FORMAT', raw, stop) end
  if flags % (DIGEST * 2) >= DIGEST then digest, stop = unpack('>c$DIGEST_SIZE', raw, stop) end
  if flags % (FINGERPRINT * 2) >= FINGERPRINT then fingerprint, stop = unpack('>c$FINGERPRINT_SIZE', raw, stop) end
  local header = {
    stamp = stamp, flags = flags, priority = priority, client = client, digest = digest, fingerprint = fingerprint, stop = stop, raw = raw,
  }
  if flags >= LEASE then header.stop = read_rare(header, raw, flags, stop) end
  return header
end

-- A header's fields, and itself; `stamp` is when it was enqueued by the queue's own clock, `stop` is where the payload
-- begins.
function record.header(raw)
  local version, stamp, flags, priority, stop = unpack('$RECORD_FORMAT', raw)
  expect_layout(version)
  return header_of(raw, stamp, flags, priority, stop)
end

-- The header of a job that is not stored yet: it has no stamp, and `raw` is only the tail of its record.
function record.new_header(tail)
  local flags, priority, stop = unpack('$TAIL_FORMAT', tail)
  return header_of(tail, 0, flags, priority, stop)
end

-- The job of such a header is stored. Returns its record.
function record.stamp(header, stamp)
  local raw = record.stamped(stamp, header.raw)
  header.stamp, header.raw, header.stop = stamp, raw, header.stop + HEAD_SIZE
  return raw
end

-- A new job's record; `tail` is all after its stamp.
function record.stamped(stamp, tail)
  return pack('$HEAD_FORMAT', LAYOUT, stamp) .. tail
end

-- The tail of a record: flags, priority, and the rest in the order of the flags.
function record.tail(flags, priority, rest)
  return pack('$TAIL_FORMAT', flags, priority) .. rest
end

-- The tail of a new job without its digest, for a queue that does not deduplicate.
function record.without_digest(header)
  local begin = $REST_AT
  local at = begin + (header.client ~= '' and 1 + #header.client or 0)
  local rest = header.raw:sub(begin, at - 1) .. header.raw:sub(at + $DIGEST_SIZE)
  return record.tail(header.flags - DIGEST, header.priority, rest)
end

-- An alias: it remembers an idempotent enqueue that met an equal job.
function record.is_alias(header)
  return band(header.flags, record.ALIAS) ~= 0
end

-- Its payload has a field of its own.
function record.is_external(header)
  return band(header.flags, record.EXTERNAL) ~= 0
end

-- The flags from LOCKS on are the highest, and most jobs have none of them: these three are asked often.

-- It belongs to a batch.
function record.is_member(header)
  return header.flags >= MEMBER and band(header.flags, MEMBER) ~= 0
end

-- It may have an entry in `routes`.
function record.is_routed(header)
  return header.flags >= ROUTED and band(header.flags, ROUTED) ~= 0
end

-- It needs a lock or the gate of its batch.
function record.is_gated(header)
  return header.flags >= LOCKS and band(header.flags, LOCKS + MEMBER) ~= 0
end

-- `score` is the job's place in the order, -1 while it has none; of a batch's job that has ended, it is the stamp of that.
-- `arrival` is the stamp of when it got that place. `unserved`: not handed out since then, so it counts among its client's
-- turns. `lease` is the reservation that is out, '' for none; `history` are those that have ended; `gate` is where a
-- blocked job is parked.
local LIVE, UNSERVED = '$LIVE_FORMAT', $UNSERVED

function record.new(state, score, priority, arrival)
  return {
    state = state, score = score, arrival = arrival, priority = priority, unserved = score >= 0, handed_out = 0,
    expired = 0, failed = 0, abandoned = 0, released = 0, attempts = 0, late = 0, lease = '', history = '', errors = '',
    gate = '', skips = '',
  }
end

function record.live(raw)
  local version, state, score, arrival, priority, handed_out, expired, failed, abandoned, released, attempts, late, lease,
    history, errors, gate, skips = unpack(LIVE, raw)
  expect_layout(version)
  -- One constructor: a table that grows field by field is rehashed several times.
  return {
    state = state, score = score, arrival = arrival, priority = priority % UNSERVED, unserved = priority >= UNSERVED,
    handed_out = handed_out, expired = expired, failed = failed, abandoned = abandoned, released = released,
    attempts = attempts, late = late, lease = lease, history = history, errors = errors, gate = gate, skips = skips,
  }
end

function record.pack(r)
  local priority = r.priority + (r.unserved and UNSERVED or 0)
  return pack(LIVE, LAYOUT, r.state, r.score, r.arrival, priority, r.handed_out, r.expired, r.failed, r.abandoned,
    r.released, r.attempts, r.late, #r.lease, r.lease, #r.history, r.history, #r.errors, r.errors, #r.gate, r.gate,
    #r.skips, r.skips)
end

-- The live reservation: secret, its digest, nonce of the call, reserved at, length in ms, resumes, marks, worker.
local IN_LEASE = '$LEASE_FORMAT'

function record.lease(raw)
  local secret, digest, nonce, reserved_at, ms, resumes, marks, worker = unpack(IN_LEASE, raw)
  return {
    secret = secret, digest = digest, nonce = nonce, reserved_at = reserved_at, ms = ms, resumes = resumes, marks = marks,
    worker = worker,
  }
end

-- That of a job that is handed out.
function record.new_lease(secret, digest, nonce, reserved_at, ms, worker)
  return pack(IN_LEASE, secret, digest, nonce, reserved_at, ms, 0, 0, #worker, worker)
end

function record.pack_lease(l)
  return pack(IN_LEASE, l.secret, l.digest, l.nonce, l.reserved_at, l.ms, l.resumes, l.marks, #l.worker, l.worker)
end

function record.is_marked(lease, mark)
  return lease.marks > 0 and band(lease.marks, mark) ~= 0
end

-- The marks of a lease that is resumed. What has been taken back stays so.
function record.resumed(marks)
  local kept = band(marks, record.EVER_UNDONE)
  return kept > 0 and kept + record.RESUMED < 256 and kept + record.RESUMED or kept
end

-- The `resumes` that the last undo gave, 0 = none: a completion that knows of fewer was sent before it. If more resumes came
-- since than are counted, it is more than that.
function record.undone_at(lease)
  return record.is_marked(lease, record.UNDONE) and lease.resumes - math.floor(lease.marks / record.RESUMED) or 0
end

-- A reservation that has ended: digest, cause, ended at, reserved at, worker, note.
record.ENDED = '$ENDED_FORMAT'
local KEPT = 5

-- The last five of them are kept, newest first.
function record.remember(history, entry)
  if history == '' then return entry end
  local stop, entries = 1, 1
  while stop <= #history and entries < KEPT do
    local _, _, _, _, _, _, next_stop = unpack(record.ENDED, history, stop)
    stop, entries = next_stop, entries + 1
  end
  return entry .. history:sub(1, stop - 1)
end

-- The member of a reservation in `held`.
function record.held(lease, id)
  return lease.worker .. '\0' .. lease.nonce .. '\0' .. id
end

return record
