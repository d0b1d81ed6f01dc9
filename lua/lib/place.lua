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

-- Many of them at once, {id, header} each.
local function unseen_ones(those)
  local members = {}
  for i, job in ipairs(those) do members[i] = in_line(job.id, job.header.stamp) end
  if #members == 0 then return end
  local scores = redis.call('ZMSCORE', inbound, unpack(members))
  for i, job in ipairs(those) do
    job.record = new_live(WAITING, tonumber(scores[i] or -1), job.header.priority, job.header.stamp)
  end
end
