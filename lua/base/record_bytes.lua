-- record_bytes: reads and changes parts of a job's two records as bytes. base/record decodes them whole and explains each part.
-- Formats and offsets (counted from 1) come from crates/intray-store/src/record_fields.rs.
local record = require 'base/record'
local text = require 'base/text'
local SPAN = $SPAN
local record_bytes = {
  -- Layout, stamp, the two bytes of the flags, priority.
  HEAD = '$HEAD_FORMAT',
  PARTS = $PARTS_AT, -- where the client, or the first part after it, begins
  -- Layout, state, score, arrival, priority, counters, secret and its digest, nonce, since when; then how long, resumes,
  -- marks; then the worker, and where the rest begins.
  HELD = '$HELD_FORMAT',
  -- From the score on: score, arrival, counters. From the digest on: digest of the secret, nonce, since when, marks, worker, and where
  -- the rest begins.
  STANDING = '$STANDING_FORMAT', STANDING_AT = $SCORE_AT,
  LEASED = '$LEASED_FORMAT', LEASED_AT = $SECRET_DIGEST_AT,
}
local byte, sub, rep, band = string.byte, string.sub, string.rep, bit.band
local pack, unpack, bytes = struct.pack, struct.unpack, text.bytes
local LAYOUT, LEASE, UNSERVED = bytes[record.LAYOUT], $LEASE_AT, 128
local CLIENT, DIGEST, GATED, ROUTED = record.CLIENT, record.DIGEST, (record.LOCKS + record.MEMBER) / 256, record.ROUTED / 256
local LEASE_SIZE = $LEASE_SIZE                 -- of a lease with an unnamed worker
local CLAIM_SIZE = $TERMS_AT - $LEASE_AT       -- of secret, digest and nonce
local ENDED_SIZE = $ENDED_SIZE - 1             -- of an entry of the history without its worker
local ONCE = '\0\0\0\1' .. rep('\0', $LEASE_LENGTH_AT - $EXPIRED_AT) -- handed out once, and nothing else has happened
local NEW = rep('\0', $LEASE_AT - $COUNTERS_AT + 4) -- no counters, no lease, no history, no errors
local EMPTY_TAIL = rep('\0', 8)                -- no history, no errors, no gate, no skips
local EXPIRED_ONCE = rep('\0\0\0\1', 2) .. rep('\0', $ATTEMPTS_AT - $FAILED_AT) .. '\0\0\0\1\0\0' -- the same, and it has expired
local WAITING, RESERVED = LAYOUT .. bytes[record.WAITING], LAYOUT .. bytes[record.RESERVED]
local COMPLETED, BLOCKED = LAYOUT .. bytes[record.COMPLETED], LAYOUT .. bytes[record.BLOCKED]
record_bytes.ONCE, record_bytes.UNSERVED = ONCE, UNSERVED

-- It needs a lock or the gate of its batch.
function record_bytes.is_gated(raw)
  return band(byte(raw, $FLAGS_AT), GATED) ~= 0
end

-- It may have an entry in `routes`.
function record_bytes.is_routed(raw)
  return band(byte(raw, $FLAGS_AT), ROUTED) ~= 0
end

-- The same record with that flag.
function record_bytes.with_route(raw)
  return sub(raw, 1, $FLAGS_AT - 1) .. bytes[byte(raw, $FLAGS_AT) + ROUTED] .. sub(raw, $FLAGS_AT + 1)
end

-- Its payload is inside the record.
function record_bytes.is_whole(raw)
  return byte(raw, $FLAGS_AT + 1) % 2 < record.EXTERNAL
end

-- The client of a job, '' for none, and its dedupe digest, nil for none. `flags`: their second byte, as of the others; `at`:
-- where what they speak of begins.
function record_bytes.parts(raw, flags, at)
  if flags == DIGEST then return '', sub(raw, at, at + $DIGEST_SIZE - 1) end
  local client, digest = '', nil
  if flags % 4 >= CLIENT then
    local from = at + 1
    at = from + byte(raw, at)
    client = sub(raw, from, at - 1)
  end
  if flags % 8 >= DIGEST then digest = sub(raw, at, at + $DIGEST_SIZE - 1) end
  return client, digest
end

-- The length of the fields between digest and locks, by the low byte of the flags.
local LENGTHS = {
  [record.FINGERPRINT] = $FINGERPRINT_SIZE, [record.LEASE] = $LEASE_MS_SIZE, [record.ATTEMPTS] = $MAX_ATTEMPTS_SIZE,
  [record.BACKOFF] = $BACKOFF_SIZE, [record.TRACE] = $TRACE_SIZE,
}
local sizes = setmetatable({}, {__index = function(self, flags)
  local size = 0
  for flag, length in pairs(LENGTHS) do
    if band(flags, flag) ~= 0 then size = size + length end
  end
  self[flags] = size
  return size
end})

-- The locks of a job that has some.
function record_bytes.locks(raw, flags, at)
  if flags % 4 >= CLIENT then at = at + 1 + byte(raw, at) end
  if flags % 8 >= DIGEST then at = at + $DIGEST_SIZE end
  return (record.locks_at(raw, at + sizes[flags]))
end

-- It says itself how long it may be held.
function record_bytes.has_lease(flags)
  return flags % 32 >= record.LEASE
end

-- It says itself how often it may be tried.
function record_bytes.has_attempts(flags)
  return flags % 64 >= record.ATTEMPTS
end

-- No worker has skipped it.
function record_bytes.has_no_skips(live)
  return sub(live, -2) == '\0\0' and byte(live, 1) == record.LAYOUT
end

-- Its turn still counts for its client.
function record_bytes.is_unserved(live)
  return byte(live, $PRIORITY_AT) >= UNSERVED
end

-- The part of a lease between nonce and worker: reserved now, for this long, never resumed, no marks.
function record_bytes.terms(now, lease_ms)
  return pack('>I6I4', now, lease_ms) .. '\0\0\0\0\0'
end

-- The live record of a job that is handed out for the first time; `claim` is a secret and its digest.
function record_bytes.reserve(stamp, priority, score, claim, nonce, terms)
  return RESERVED .. pack('>d', score) .. stamp .. bytes[priority] .. ONCE .. bytes[CLAIM_SIZE + #terms] .. claim .. nonce
    .. terms .. EMPTY_TAIL
end

-- The same for one that was handed out before.
function record_bytes.reserve_again(live, score, claim, nonce, terms)
  return RESERVED .. pack('>d', score) .. sub(live, $ARRIVAL_AT, $PRIORITY_AT - 1) .. bytes[record_bytes.priority(live)]
    .. pack('>I4', unpack('>I4', live, $COUNTERS_AT) + 1) .. sub(live, $EXPIRED_AT, $LEASE_LENGTH_AT - 1) .. bytes[CLAIM_SIZE + #terms] .. claim .. nonce .. terms
    .. sub(live, LEASE + byte(live, $LEASE_LENGTH_AT))
end

function record_bytes.priority(live)
  return byte(live, $PRIORITY_AT) % UNSERVED
end

-- Its member in `inbound`.
function record_bytes.member(live, id)
  return sub(live, $ARRIVAL_AT, $PRIORITY_AT - 1) .. id
end

-- It is reserved, so HELD fits.
function record_bytes.is_held(live)
  return byte(live, $LEASE_LENGTH_AT) >= LEASE_SIZE
end

-- The live record of a job that its holder completes; the reservation becomes the first entry of its history: `digest` of the
-- claim, `how` (cause and time), `since`, `worker` with its length. `stop` is where the lease ends, `ended` the packed score.
function record_bytes.complete(live, arrival, score, counters, stop, digest, how, since, worker, ended)
  local head = COMPLETED .. ended .. arrival .. bytes[(score - score % SPAN) / SPAN] .. counters
  if #live == stop + 7 then
    return head .. '\0\0' .. bytes[#worker + ENDED_SIZE] .. digest .. how .. since .. worker .. EMPTY_TAIL
  end
  local history, errors, gate = unpack('>I2c0I2c0I2c0', live, stop)
  history = record.remember(history, digest .. how .. since .. worker .. '\0\0')
  return head .. pack('>BI2c0I2c0I2c0', 0, #history, history, #errors, errors, #gate, gate) .. '\0\0'
end

-- The attempts, from the counters.
function record_bytes.attempts(counters)
  return (unpack('>I4', counters, $ATTEMPTS_AT - $COUNTERS_AT + 1))
end

local function counted_expiry(counters)
  if counters == ONCE then return EXPIRED_ONCE end
  return sub(counters, 1, $EXPIRED_AT - $COUNTERS_AT)
    .. pack('>I4', unpack('>I4', counters, $EXPIRED_AT - $COUNTERS_AT + 1) + 1)
    .. sub(counters, $FAILED_AT - $COUNTERS_AT + 1, $ATTEMPTS_AT - $COUNTERS_AT)
    .. pack('>I4', record_bytes.attempts(counters) + 1) .. sub(counters, -2)
end

-- The live record of a job whose reservation expired: it waits at its place again. Parameters as above.
function record_bytes.expire(live, counters, stop, digest, how, since, worker)
  local head = WAITING .. sub(live, $SCORE_AT, $PRIORITY_AT) .. counted_expiry(counters) .. '\0'
  if #live == stop + 7 then return head .. '\0' .. bytes[#worker + ENDED_SIZE] .. digest .. how .. since .. worker .. EMPTY_TAIL end
  local history, at = unpack('>I2c0', live, stop)
  history = record.remember(history, digest .. how .. since .. worker .. '\0\0')
  return head .. pack('>I2', #history) .. history .. sub(live, at)
end

-- The live record of a new job that is parked.
function record_bytes.park(score, arrival, priority, gate)
  return BLOCKED .. pack('>d', score) .. arrival .. bytes[priority + UNSERVED] .. NEW .. pack('>I2', #gate) .. gate .. '\0\0'
end

-- The live record of a new job that stands in a line of its own.
function record_bytes.wait(score, arrival, priority)
  return WAITING .. pack('>d', score) .. arrival .. bytes[priority + UNSERVED] .. NEW .. '\0\0\0\0'
end

-- It is parked.
function record_bytes.is_blocked(live)
  return sub(live, 1, 2) == BLOCKED
end

-- Its score and arrival.
function record_bytes.place(live)
  local score, arrival = unpack(record_bytes.STANDING, live, record_bytes.STANDING_AT)
  return score, arrival
end

-- The live record of a parked job that is put back into line.
function record_bytes.unpark(live)
  local _, _, gate, stop = unpack('>I2c0I2c0I2c0', live, LEASE)
  return WAITING .. sub(live, $SCORE_AT, stop - #gate - 3) .. '\0\0' .. sub(live, stop)
end

-- The live record of a job that returns to its place after a delay.
function record_bytes.come_back(live)
  return WAITING .. sub(live, $SCORE_AT)
end

-- The same for a job that gets its place only now.
function record_bytes.arrive(live, score, arrival)
  return WAITING .. pack('>dI6', score, arrival) .. bytes[record_bytes.priority(live) + UNSERVED] .. sub(live, $COUNTERS_AT)
end

return record_bytes
