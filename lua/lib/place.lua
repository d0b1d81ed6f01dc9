-- place: a job's member in the line, and a job that nothing has happened to yet.
-- USES   record
-- KEYS   inbound zset

-- How a job stands in `inbound`, and at the end of a member of `parked`: equal places go by arrival. The last 26
-- characters are its id.
local function in_line(id, arrival)
  return struct.pack('>I6', arrival) .. id
end

local function id_of(member)
  return member:sub(-26)
end

local function arrival_of(member)
  return (struct.unpack('>I6', member))
end

-- A waiting job without a live record has it from its header and its place.
local function unseen(id, header)
  local score = redis.call('ZSCORE', inbound, in_line(id, header.stamp))
  return new_live(WAITING, tonumber(score), header.priority, header.stamp)
end
