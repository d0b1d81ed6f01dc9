-- lines: how many jobs wait in each line, and since when the first of it is there.   reads only
-- FLAGS  no-writes
-- KEYS   inbound zset · lines zset · jobs hash
-- ARGV   -
-- REPLY  {now ms, {line, waiting, enqueued at ms of its first job} …}: of at most 100 lines
local record = require 'base/record'
local clock = require 'base/clock'
local place = require 'jobs/place'
local line_set = require 'jobs/line_set'
local MOST = 100

return function(q)
  local found = {clock.now(q)}
  for _, one in ipairs(line_set.first_lines(q, MOST)) do
    local raw = redis.call('HGET', q.jobs, place.id_of(one[3]))
    found[#found + 1] = {one[1], one[2], raw and clock.ms_of(record.header(raw).stamp) or clock.now(q)}
  end
  return found
end
