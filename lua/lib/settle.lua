-- settle: finds what the reservation of each item stands for.
-- USES   write record gate leave
-- KEYS   reserved zset · jobs hash · live hash
local ids, found = {}, in_hand

-- Reads everything about the items at once; `stride` is the number of arguments an item has, its id first.
local function read_items(stride)
  for i = 1, #ARGV, stride do ids[#ids + 1] = ARGV[i] end
  local records, headers = redis.call('HMGET', live, unpack(ids)), redis.call('HMGET', jobs, unpack(ids))
  local deadlines = redis.call('ZMSCORE', reserved, unpack(ids))
  for i, id in ipairs(ids) do
    if records[i] and headers[i] and not found[id] then
      local r = read_live(records[i])
      found[id] = {
        record = r, header = read_header(headers[i]), deadline = tonumber(deadlines[i] or 0),
        hold = r.hold ~= '' and read_hold(r.hold) or nil,
      }
    end
  end
end

-- The gates of those whose reservations end by this list, at once.
local function foresee_ends()
  local those = {}
  for _, id in ipairs(ids) do
    local job = found[id]
    if job and job.hold and is_gated(job.header) then those[#those + 1] = {id = id, header = job.header} end
  end
  foresee_gates(those)
end

-- The job, if `secret` is the reservation that is out.
local function holder(id, secret)
  local job = found[id]
  if job and job.hold and job.hold.secret == secret then return job end
end

-- Each item in its turn, as long as the script may go on; those that are left come again, and in their order.
local function each_item(stride, decide)
  local replies = {}
  for at = 1, #ARGV, stride do replies[#replies + 1] = is_spent() and {'later'} or decide(at) end
  return replies
end

local function let_go(job, id, how, note)
  leave(id, job.record, job.hold, how, job.header, note)
  job.hold = nil
end
