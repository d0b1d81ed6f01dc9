-- place: a job's member in `inbound`, and the live record of a job that has none stored yet.
local record = require 'base/record'
local place = {}
local call, pack, unpack_record, sub = redis.call, struct.pack, struct.unpack, string.sub

-- The member in `inbound`, and the end of a member of `parked`: equal places sort by arrival. The last 26 characters are the id.
function place.member(id, arrival)
  return pack('>I6', arrival) .. id
end

function place.id_of(member)
  return sub(member, -$ID_LEN)
end

function place.arrival_of(member)
  return (unpack_record('>I6', member))
end

-- The live record of a waiting job that has none stored, from its header and score.
function place.unseen(q, id, header)
  local score = call('ZSCORE', q.inbound, place.member(id, header.stamp))
  return record.new(record.WAITING, tonumber(score), header.priority, header.stamp)
end

-- The same for many jobs, {id, header} each, with one read.
function place.unseen_ones(q, those)
  local members = {}
  for i, job in ipairs(those) do members[i] = place.member(job.id, job.header.stamp) end
  if #members == 0 then return end
  local scores = call('ZMSCORE', q.inbound, unpack(members))
  for i, job in ipairs(those) do
    job.record = record.new(record.WAITING, tonumber(scores[i] or -1), job.header.priority, job.header.stamp)
  end
end

return place
