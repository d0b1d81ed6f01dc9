-- patch: the two records of a job as bytes, for those who change little of them. base/record has them whole, and says what
-- each part is.
-- A job's record: 1 layout · 2-7 stamp · 8-9 flags · 10 priority · then what the flags say, client first.
-- A live record: 1 layout · 2 state · 3-10 score · 11-16 arrival · 17 priority, and its first bit `unserved` · 18-41 six
-- counters · 42-43 late results · 44 length of the lease, and the lease · then history, errors, gate and skips, each behind
-- its length in two bytes.
-- A lease: 1-26 secret · 27-34 its digest · 35-50 nonce · 51-56 since · 57-60 how long · 61-64 resumes · 65 marks · 66
-- length of the worker, and the worker.
local record = require 'base/record'
local text = require 'base/text'
local SPAN = $SPAN
local patch = {}
local byte, sub, rep, floor = string.byte, string.sub, string.rep, math.floor
local pack, unpack, bytes = struct.pack, struct.unpack, text.bytes
local LAYOUT, LEASE, UNSERVED = bytes[record.LAYOUT], 45, 128
local EXTERNAL, CLIENT, DIGEST = record.EXTERNAL, record.CLIENT, record.DIGEST
local NEVER = '\0\0\0\1' .. rep('\0', 22)      -- handed out once, and nothing else has happened
local NOTHING = rep('\0', 8)                   -- no history, no errors, no gate, no skips
local RESERVED, COMPLETED = LAYOUT .. bytes[record.RESERVED], LAYOUT .. bytes[record.COMPLETED]
local NO_PLACE = pack('>d', -1)
local band = bit.band

-- No locks, no batch, and no alias.
function patch.has_no_gate(raw)
  return byte(raw, 8) == 0 and byte(raw, 1) == record.LAYOUT
end

-- Its payload is in it.
function patch.is_whole(raw)
  return band(byte(raw, 9), EXTERNAL) == 0
end

function patch.has_lease(raw)
  return band(byte(raw, 9), record.LEASE) ~= 0
end

-- The client of a job behind its length.
function patch.client(raw)
  if band(byte(raw, 9), CLIENT) == 0 then return '\0' end
  return sub(raw, 11, 11 + byte(raw, 11))
end

-- Its dedupe digest; nil for none.
function patch.digest(raw)
  local flags = byte(raw, 9)
  if band(flags, DIGEST) == 0 then return nil end
  local at = band(flags, CLIENT) ~= 0 and 12 + byte(raw, 11) or 11
  return sub(raw, at, at + 15)
end

-- Nobody has skipped it.
function patch.has_no_skips(live)
  return sub(live, -2) == '\0\0' and byte(live, 1) == record.LAYOUT
end

-- Has its turn been served before?
function patch.is_unserved(live)
  return not live or byte(live, 17) >= UNSERVED
end

-- The live record of a job that is handed out; `live` is false for one that nothing has happened to.
function patch.reserve(raw, live, score, lease)
  if not live then
    return RESERVED .. pack('>d', score) .. sub(raw, 2, 7) .. sub(raw, 10, 10) .. NEVER .. bytes[#lease] .. lease
      .. NOTHING
  end
  return RESERVED .. pack('>d', score) .. sub(live, 11, 16) .. bytes[byte(live, 17) % UNSERVED]
    .. pack('>I4', unpack('>I4', live, 18) + 1) .. sub(live, 22, 43) .. bytes[#lease] .. lease
    .. sub(live, LEASE + byte(live, 44))
end

-- What all leases that one call is given have in common: since when, for how long; never resumed, unmarked.
function patch.terms(now, lease_ms, worker)
  return pack('>I6I4', now, lease_ms) .. '\0\0\0\0\0' .. worker
end

-- Is this the secret of the reservation that is out, of a job whose turn was served?
function patch.is_held_by(live, secret)
  return byte(live, 44) > 0 and byte(live, 17) < UNSERVED and sub(live, LEASE, LEASE + 25) == secret
    and byte(live, 1) == record.LAYOUT
end

-- Worker (behind its length), nonce, since when (in bytes).
function patch.lease(live)
  local stop = LEASE + byte(live, 44) - 1
  return sub(live, LEASE + 65, stop), sub(live, LEASE + 34, LEASE + 49), sub(live, LEASE + 50, LEASE + 55)
end

-- The live record of a job that was completed by its holder: `entry` goes to the front of its history.
function patch.complete(live, entry)
  local priority = floor(unpack('>d', live, 3) / SPAN)
  local at = LEASE + byte(live, 44)
  local head = COMPLETED .. NO_PLACE .. sub(live, 11, 16) .. bytes[priority] .. sub(live, 18, 43) .. '\0'
  if sub(live, at) == NOTHING then return head .. '\0' .. bytes[#entry] .. entry .. '\0\0\0\0\0\0' end
  local history, errors, gate = unpack('>I2c0I2c0I2c0', live, at)
  history = record.remember(history, entry)
  return head .. pack('>I2c0I2c0I2c0', #history, history, #errors, errors, #gate, gate) .. '\0\0'
end

return patch
