-- record: the two records of a job. `jobs` holds what enqueue said and is written once; `live` holds all that changes.
-- Both begin with the layout's number. The twin of both is src/queue/record.rs.
local LAYOUT = 2
local WAITING, BLOCKED, DELAYED, RESERVED, COMPLETED, DEAD, CANCELLED = 1, 2, 3, 4, 5, 6, 7
local STATES = {'waiting', 'blocked', 'delayed', 'reserved', 'completed', 'dead', 'cancelled'}
local APART, CLIENT, DIGEST, FINGERPRINT, LEASE, ATTEMPTS, BACKOFF, TRACE, STUB = 1, 2, 4, 8, 16, 32, 64, 128, 256
local LOCKS, MEMBER = 512, 1024

local function expect_layout(version)
  if version ~= LAYOUT then error('a record has layout ' .. version .. ', and this script reads ' .. LAYOUT, 0) end
end

local function read_locks(raw, stop)
  local locks, count = {}, raw:byte(stop)
  stop = stop + 1
  for i = 1, count do locks[i], stop = struct.unpack('>I2c0', raw, stop) end
  return locks, stop
end

-- A header's fields, and itself; `stamp` is when it was enqueued by the queue's own clock, `stop` is where the payload
-- begins.
local function read_header(raw)
  local version, stamp, flags, priority, stop = struct.unpack('>BI6I2B', raw)
  expect_layout(version)
  local client, digest, fingerprint, lease, max_attempts = ''
  local backoff, backoff_delay, backoff_max, locks
  if bit.band(flags, CLIENT) ~= 0 then client, stop = struct.unpack('>Bc0', raw, stop) end
  if bit.band(flags, DIGEST) ~= 0 then digest, stop = struct.unpack('>c16', raw, stop) end
  if bit.band(flags, FINGERPRINT) ~= 0 then fingerprint, stop = struct.unpack('>c8', raw, stop) end
  if bit.band(flags, LEASE) ~= 0 then lease, stop = struct.unpack('>I4', raw, stop) end
  if bit.band(flags, ATTEMPTS) ~= 0 then max_attempts, stop = struct.unpack('>I4', raw, stop) end
  if bit.band(flags, BACKOFF) ~= 0 then
    backoff, backoff_delay, backoff_max, stop = struct.unpack('>BI4I4', raw, stop)
  end
  if bit.band(flags, TRACE) ~= 0 then stop = stop + 55 end
  if bit.band(flags, LOCKS) ~= 0 then locks, stop = read_locks(raw, stop) end
  return {
    stamp = stamp, flags = flags, priority = priority, client = client, digest = digest, fingerprint = fingerprint,
    lease = lease, max_attempts = max_attempts, backoff = backoff, backoff_delay = backoff_delay,
    backoff_max = backoff_max, locks = locks, stop = stop, raw = raw,
  }
end

local function is_stub(header)
  return bit.band(header.flags, STUB) ~= 0
end

-- `score` is the job's place in the order, -1 while it has none; of a batch's job that has ended, it is the stamp of that.
-- `arrival` is the stamp of when it got that place. `unserved`: nobody has had it since, so it counts among its client's
-- turns. `hold` is the reservation that is out, '' for none; `gate` is where a blocked job is parked.
local LIVE, UNSERVED = '>BBdI6BI4I4I4I4I4I4I2Bc0I2c0I2c0I2c0I2c0', 128

local function new_live(state, score, priority, arrival)
  return {
    state = state, score = score, arrival = arrival, priority = priority, unserved = score >= 0, handed_out = 0,
    expired = 0, failed = 0, abandoned = 0, released = 0, attempts = 0, late = 0, hold = '', ring = '', errors = '',
    gate = '', skips = '',
  }
end

local function read_live(raw)
  local version, state, score, arrival, priority, handed_out, expired, failed, abandoned, released, attempts, late, hold,
    ring, errors, gate, skips = struct.unpack(LIVE, raw)
  expect_layout(version)
  -- One constructor: a table that grows field by field is made anew several times.
  return {
    state = state, score = score, arrival = arrival, priority = priority % UNSERVED, unserved = priority >= UNSERVED,
    handed_out = handed_out, expired = expired, failed = failed, abandoned = abandoned, released = released,
    attempts = attempts, late = late, hold = hold, ring = ring, errors = errors, gate = gate, skips = skips,
  }
end

local function pack_live(r)
  local priority = r.priority + (r.unserved and UNSERVED or 0)
  return struct.pack(LIVE, LAYOUT, r.state, r.score, r.arrival, priority, r.handed_out, r.expired, r.failed, r.abandoned,
    r.released, r.attempts, r.late, #r.hold, r.hold, #r.ring, r.ring, #r.errors, r.errors, #r.gate, r.gate, #r.skips,
    r.skips)
end

-- The reservation that is out: secret, digest of the secret, nonce of the call that was given it, since when, how long.
-- Marks: it ends by grace, as abandoned; it was given twice to the same call; when it ends by grace its worker has
-- skipped the job.
local GRACE, REPLAYED, SKIPS = 1, 2, 4
local HOLD = '>c26c8c16I6I4I4BBc0'

local function read_hold(raw)
  local secret, digest, nonce, reserved_at, lease, resumes, marks, worker = struct.unpack(HOLD, raw)
  return {
    secret = secret, digest = digest, nonce = nonce, reserved_at = reserved_at, lease = lease, resumes = resumes,
    marks = marks, worker = worker,
  }
end

local function pack_hold(h)
  return struct.pack(HOLD, h.secret, h.digest, h.nonce, h.reserved_at, h.lease, h.resumes, h.marks, #h.worker, h.worker)
end

local function held_member(hold, id)
  return hold.worker .. '\0' .. hold.nonce .. '\0' .. id
end
