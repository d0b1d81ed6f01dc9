-- route_codec: a route as it is stored in `routes`: parts of a tag and a value each. A part that this version does not know stays as
-- it is. The twins are crates/intray-store/src/layout/route.rs and routing.rs.
local text = require 'base/text'
local route_codec = {
  -- Tags, with FROM_NOW in a call: the value is ms from now. Marks: the SLA was breached; the job was cancelled because it expired; it is
  -- for everybody by now.
  $ROUTE_PARTS,
}
local PART, HANDED = '$PART_FORMAT', '$HANDED_FORMAT'
local pack, unpack_part, short = struct.pack, struct.unpack, text.short

-- The part that begins there: its tag, its value, and where the next one begins.
function route_codec.read(raw, at)
  return unpack_part(PART, raw, at)
end

local function time_of(value)
  return (unpack_part('$TIME_FORMAT', value))
end

local function ms_of(value)
  return (unpack_part('$FALLBACK_FORMAT', value))
end

local function handed_of(value)
  local ends, since, line, from, stop = unpack_part(HANDED, value)
  return {ends = ends, since = since, line = line, from = from, note = value:sub(stop)}
end

-- The field of each tag, and how its value is read.
local READ = {
  [route_codec.EXPIRES] = {'expires', time_of},
  [route_codec.SLA] = {'sla', time_of},
  [route_codec.MARKS] = {'marks', string.byte},
  [route_codec.ASSIGNEES] = {'assignees', tostring},
  [route_codec.EXCLUDED] = {'excluded', tostring},
  [route_codec.SKILL] = {'skill', tostring},
  [route_codec.FALLBACK] = {'fallback', ms_of},
  [route_codec.FALLBACK_AT] = {'fallback_at', time_of},
  [route_codec.HANDED] = {'handed', handed_of},
  [route_codec.OVERLAP] = {'overlap', tostring},
  [route_codec.UNCUT] = {'uncut', time_of},
}

function route_codec.decode(raw)
  local own, at = {marks = 0, rest = ''}, 1
  while at <= #raw do
    local tag, value, stop = unpack_part(PART, raw, at)
    local field = READ[tag]
    if field then own[field[1]] = field[2](value) else own.rest = own.rest .. raw:sub(at, stop - 1) end
    at = stop
  end
  return own
end

function route_codec.part(tag, value)
  return value and pack('$PART_HEAD_FORMAT', tag, #value) .. value or ''
end

local part = route_codec.part

local function time(tag, at)
  return part(tag, at and pack('$TIME_FORMAT', at))
end

local function handed(own)
  local h = own.handed
  return part(route_codec.HANDED, h and pack('$HANDED_TIMES_FORMAT', h.ends, h.since) .. short(h.line) .. short(h.from) .. h.note)
end

-- '' for a route without parts.
function route_codec.encode(own)
  return time(route_codec.EXPIRES, own.expires) .. time(route_codec.SLA, own.sla)
    .. part(route_codec.MARKS, own.marks > 0 and text.bytes[own.marks] or nil) .. part(route_codec.ASSIGNEES, own.assignees)
    .. part(route_codec.EXCLUDED, own.excluded) .. part(route_codec.SKILL, own.skill)
    .. part(route_codec.FALLBACK, own.fallback and pack('$FALLBACK_FORMAT', own.fallback)) .. time(route_codec.FALLBACK_AT, own.fallback_at)
    .. handed(own) .. part(route_codec.OVERLAP, own.overlap) .. time(route_codec.UNCUT, own.uncut) .. own.rest
end

return route_codec
