-- source: a part of one line as a call has read it: of `inbound`, or of a line in `lines`. An entry: {id, place, record, live record or
-- false, member}; false once it has left.
local write = require 'base/write'
local text = require 'base/text'
local place = require 'jobs/place'
local lines = require 'jobs/lines'
local line_set = require 'jobs/line_set'
local source = {}

-- `line`: '' is `inbound`; `first`: index of the first entry that is still in line; `behind`: rank at which the read part of `inbound`
-- begins; `last`: the last member read of another line; `ends`: it reaches the end of the line; `cursor`: the current entry.
function source.new(line)
  return {line = line, first = 1, behind = 0, last = false, ends = false, cursor = 1}
end

-- Begins behind a job that may have left meanwhile.
function source.begin(q, s, from, member)
  if s.line ~= '' then
    s.last = lines.member(s.line, from, member)
    return
  end
  write.spend(q, 2)
  local rank = tonumber(redis.call('ZSCORE', q.inbound, member)) == from and redis.call('ZRANK', q.inbound, member)
  s.behind = rank and rank + 1 or redis.call('ZCOUNT', q.inbound, '-inf', '(' .. text.of(from))
end

-- The next entries as {id, place, member} each, with the member of the set to remove one that is gone, and whether these are all.
local function read_inbound(q, s, most)
  local from, found = s.behind + #s - s.first + 1, {}
  local entries = write.ask(q, 'ZRANGE', q.inbound, from, from + most - 1, 'WITHSCORES')
  for i = 1, #entries, 2 do
    local member = entries[i]
    found[#found + 1] = {id = place.id_of(member), place = tonumber(entries[i + 1]), member = member, key = 'inbound', own = member}
  end
  return found, #found < most
end

local function read_line(q, s, most)
  local found = {}
  for _, own in ipairs(line_set.read(q, s.line, s.last, most)) do
    local at, member = lines.place_of(s.line, own)
    found[#found + 1] = {id = place.id_of(member), place = at, member = member, key = 'lines', own = own}
    s.last = own
  end
  return found, #found < most
end

-- Adds the jobs that were found, each in the source of the same index, and reads their records at once.
local function load(q, sources, found)
  local ids = {}
  for i, one in ipairs(found) do ids[i] = one.id end
  if #ids == 0 then return end
  local headers, lives = write.ask(q, 'HMGET', q.jobs, unpack(ids)), write.ask(q, 'HMGET', q.live, unpack(ids))
  for i, one in ipairs(found) do
    local s = sources[i]
    if headers[i] then
      s[#s + 1] = {one.id, one.place, headers[i], lives[i], one.member}
    else
      write.remove(q, one.key, one.own) -- the job is gone
    end
  end
end

-- Reads on in some sources, {source, how many} each. What left their lines in this call must have been written.
function source.read_all(q, those)
  local sources, found = {}, {}
  for _, one in ipairs(those) do
    local s, most = one[1], one[2]
    local own, ends = (s.line == '' and read_inbound or read_line)(q, s, most)
    s.ends, s.is_prefetched, s.has_routes = ends, false, false
    for _, job in ipairs(own) do sources[#sources + 1], found[#found + 1] = s, job end
  end
  load(q, sources, found)
end

function source.read(q, s, most)
  source.read_all(q, {{s, most}})
end

-- Removes the current entry.
function source.drop(s)
  if s.cursor ~= s.first then
    table.remove(s, s.cursor)
  else
    s[s.first], s.first = false, s.first + 1
    s.cursor = s.first
  end
end

return source
