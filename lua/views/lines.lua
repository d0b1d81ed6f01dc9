-- lines: how many jobs wait in each line, and since when the first of it is there that is of no batch in the making. The others are
--        counted here too, and `making` says how many they are.   reads only
-- FLAGS  no-writes
-- KEYS   inbound zset · lines zset · jobs hash · gates hash · batches hash · timers zset · events stream
-- ARGV   -
-- REPLY  {now ms, {batches in the making …}, {line, waiting, enqueued at ms of its first job} …}: of at most 100 lines
local record = require 'base/record'
local clock = require 'base/clock'
local batch = require 'base/batch'
local place = require 'jobs/place'
local line_set = require 'jobs/line_set'
local MAX, LOOK = 100, 100

-- The id of the first job in a line that is not hidden; nil if none of the first ones is that.
local function first_seen(q, line, first, is_hidden)
  local id = place.id_of(first)
  if not is_hidden[batch.of(id)] then return id end
  for _, member in ipairs(line_set.read(q, line, first, LOOK)) do
    id = place.id_of(member)
    if not is_hidden[batch.of(id)] then return id end
  end
end

return function(q)
  local making, is_hidden = batch.in_the_making(q, MAX), {}
  for _, code in ipairs(making) do is_hidden[code] = true end
  local found = {clock.now(q), making}
  for _, one in ipairs(line_set.first_lines(q, MAX)) do
    local id = first_seen(q, one[1], one[3], is_hidden)
    local raw = id and redis.call('HGET', q.jobs, id)
    found[#found + 1] = {one[1], one[2], raw and clock.ms_of(record.header(raw).stamp) or clock.now(q)}
  end
  return found
end
