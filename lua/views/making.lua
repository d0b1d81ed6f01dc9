-- making: in which lines the jobs of a batch in the making wait that were there at a time, a part of the batch at a time.   reads only
-- FLAGS  no-writes
-- KEYS   jobs hash · live hash · gates hash · batches hash · timers zset · routes hash · alarms zset · totals hash ·
-- KEYS   events stream
-- ARGV   batch, index of the first job that is looked at, the time in ms
-- REPLY  {index to continue from (-1 = that is all), {line, how many} …}
local record = require 'base/record'
local clock = require 'base/clock'
local batch = require 'base/batch'
local route = require 'jobs/route'
local routing = require 'jobs/routing'
local LOOK = $PAGE_ENTRIES

local function count(q, ids, before, counts)
  local headers, lives = redis.call('HMGET', q.jobs, unpack(ids)), redis.call('HMGET', q.live, unpack(ids))
  route.prefetch(q, ids, headers)
  for i, id in ipairs(ids) do
    local header, r = headers[i] and record.header(headers[i]), lives[i] and record.live(lives[i])
    if header and r and r.state == record.WAITING and clock.ms_of(header.stamp) <= before then
      for _, line in ipairs(routing.lines(q, id, header) or {}) do counts[line] = (counts[line] or 0) + 1 end
    end
  end
end

return function(q, args)
  local code, from, ids, counts = args[1], tonumber(args[2]), {}, {}
  local b = batch.read(q, code)
  if not b or b.stage ~= batch.MAKING then return {-1} end
  for index = from, math.min(from + LOOK, b.total) - 1 do ids[#ids + 1] = batch.member(code, index) end
  if #ids > 0 then count(q, ids, tonumber(args[3]), counts) end
  local reply = {from + LOOK < b.total and from + LOOK or -1}
  for line, n in pairs(counts) do reply[#reply + 1] = {line, n} end
  return reply
end
