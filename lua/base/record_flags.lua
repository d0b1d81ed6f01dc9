-- record_flags: what the flags of a job's record say, read from its bytes; base/record decodes records whole and explains each part.
-- Offsets (counted from 1) come from crates/intray-store/src/record_fields.rs.
local record = require 'base/record'
local text = require 'base/text'
local record_flags = {}
local byte, sub, band, bytes = string.byte, string.sub, bit.band, text.bytes
local ROUTED = record.ROUTED / 256

-- It may have an entry in `routes`.
function record_flags.is_routed(raw)
  return band(byte(raw, $FLAGS_AT), ROUTED) ~= 0
end

-- The same record with that flag.
function record_flags.with_route(raw)
  return sub(raw, 1, $FLAGS_AT - 1) .. bytes[byte(raw, $FLAGS_AT) + ROUTED] .. sub(raw, $FLAGS_AT + 1)
end

-- Its payload is inside the record.
function record_flags.is_whole(raw)
  return byte(raw, $FLAGS_AT + 1) % 2 < record.EXTERNAL
end

return record_flags
