-- merge: the list form of jobs/line: the next jobs of the calls of a reserve, in the line for everybody and in those of their workers and
-- skills. It passes over no job, and reads no record of one that no call gets. The tables are reused between calls; a call reads only the
-- entries that it has written.
local text = require 'base/text'
local ask = require 'jobs/ask'
local order = require 'jobs/order'
local place = require 'jobs/place'
local line_set = require 'jobs/line_set'
local lines = require 'jobs/lines'
local merge = {}
local call, unpack, max, min = redis.call, unpack, math.max, math.min
local tonumber = tonumber
local SPAN = order.SPAN
local MOST, MOST_READS = 40, 80 -- lines of all calls, and commands that read them
local FEW = 4   -- entries of a line that are read at first, at least; then each time twice as many
-- Of each job found: the highest turn to which it may raise V if it is of another line than everybody's, false if it is not.
local most_turn = {}
local found_in, members, own_lines = {}, {}, {} -- of each job found: its line, and its member in `restricted`; the lines of each call
local everybody, by_line, count, reads, gone, taken = nil, {}, 0, 0, {}, {}
local off_restricted, off_lines = {'ZREM'}, {'ZREM'}
local in_restricted, in_lines = 0, 0

-- Reads on in a line. `found`: the entries that were read last; `at`: the index of the current one, of which `place` (nil behind the last)
-- and `member` are kept; `seen`: how many were read; `wanted`: how many its calls can want; `total`: how many stand in it.
local function read(q, s, step)
  s.found, s.at = line_set.read(q, s.name, s.found[#s.found], step), 0
  s.seen, s.ends, reads = s.seen + #s.found, #s.found < step, reads + 1
end

-- Goes on to the next job that no call has got.
local function advance(q, s)
  repeat
    if not s.found[s.at + 1] and not s.ends then read(q, s, max(FEW, #s.found * 2)) end
    s.at = s.at + 1
    local entry = s.found[s.at]
    if not entry then
      s.place = nil
      return
    end
    s.place, s.member = lines.place_of(s.name, entry)
  until not gone[s.member]
end

local function advance_everybody(s)
  local k = s.at * 2
  s.at, s.member, s.place = s.at + 1, s.found[k + 1], tonumber(s.found[k + 2])
end

-- The lines of a call, which are opened.
local function lines_of(finds_workers, worker, skills, limit)
  local those = finds_workers and ask.lines(worker, skills) or skills
  for _, name in ipairs(those) do
    local s = by_line[name]
    if s then
      s.wanted = s.wanted + limit
    else
      count = count + 1
      s = {name = name, found = {}, at = 0, seen = 0, ends = false, wanted = limit, total = false}
      by_line[name], by_line[count] = s, s
    end
  end
  return those
end

-- Opens the lines of the calls. Returns false if there are too many.
local function open(q, n, workers, skills, limits, wanted)
  by_line, count, reads, gone, taken, in_restricted, in_lines = {}, 0, 0, {}, {}, 0, 0
  local finds_workers = n < 2 or line_set.has_workers(q)
  for c = 1, n do own_lines[c] = lines_of(finds_workers, workers[c], skills[c], limits[c]) end
  if count > MOST then return false end
  for i = 1, count do
    local s = by_line[i]
    read(q, s, min(s.wanted, max(FEW, math.ceil(wanted * 2 / count))))
    advance(q, s)
  end
  everybody = {found = call('ZRANGE', q.inbound, '0', text.of(wanted - 1), 'WITHSCORES'), at = 0}
  advance_everybody(everybody)
  return true
end

local function precedes(one, other)
  if one.place ~= other.place then return one.place < other.place end
  return place.arrival_of(one.member) < place.arrival_of(other.member)
end

-- The line that has the next job of a call, nil if none has.
local function next_line(q, own)
  local first = everybody.place and everybody
  for _, name in ipairs(own) do
    local s = by_line[name]
    if s.place and gone[s.member] then advance(q, s) end
    if s.place and (not first or precedes(s, first)) then first = s end
  end
  return first
end

-- The highest turn to which a job of another line may raise V: before the first job for everybody at its priority.
local function highest_turn(at)
  local turn, first = at % SPAN, everybody.place
  return first and first - first % SPAN == at - turn and first % SPAN - 1 or turn
end

-- Finds the jobs of all calls in their order, and writes the place and the id of each. Returns how many of them leave `inbound`, whose
-- members are in `leave`; nil if there are too few.
function merge.find(q, n, workers, skills, limits, wanted, places, ids, leave)
  if not open(q, n, workers, skills, limits, wanted) then return end
  local i, in_inbound = 0, 0
  for c = 1, n do
    for _ = 1, limits[c] do
      local s = next_line(q, own_lines[c])
      if not s or reads > MOST_READS then return end
      i = i + 1
      places[i], members[i], ids[i] = s.place, s.member, place.id_of(s.member)
      if s == everybody then
        in_inbound, most_turn[i] = in_inbound + 1, false
        leave[in_inbound + 2] = s.member
        advance_everybody(s)
      else
        most_turn[i], found_in[i], gone[s.member] = highest_turn(s.place), s.name, true
      end
    end
  end
  return in_inbound
end

-- The i-th job leaves these lines. Returns whether the one where it was found is among them.
function merge.leave(i, own, at)
  local is_there, member = false, members[i]
  in_restricted = in_restricted + 1
  off_restricted[in_restricted + 2] = member
  for _, line in ipairs(own) do
    is_there = is_there or line == found_in[i]
    in_lines, taken[line] = in_lines + 1, (taken[line] or 0) + 1
    off_lines[in_lines + 2] = lines.member(line, at, member)
  end
  return is_there
end

-- The highest turn to which the i-th job may raise V if it is in another line than everybody's, false if it is not.
function merge.most_turn(i)
  return most_turn[i]
end

-- How many jobs wait in the own lines of a call, without those that have left them.
function merge.waiting(q, c)
  local waiting = 0
  for _, name in ipairs(own_lines[c]) do
    local s = by_line[name]
    s.total = s.total or s.ends and s.seen or line_set.count(q, name)
    waiting = waiting + s.total - (taken[name] or 0)
  end
  return waiting
end

function merge.write(q)
  if in_restricted == 0 then return end
  off_restricted[2], off_lines[2] = q.restricted, q.lines
  call(unpack(off_restricted, 1, in_restricted + 2))
  call(unpack(off_lines, 1, in_lines + 2))
end

return merge
