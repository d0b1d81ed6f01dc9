-- source: a part of one line as a call has read it: of `inbound`, or of a line in `lines`. An entry, false once it has left: {id, place,
-- member, own: its member of the line; raw, live: its records, false until they are loaded or for none; header, job: what is made of these}.
local record = require 'base/record'
local write = require 'base/write'
local text = require 'base/text'
local place = require 'jobs/place'
local lines = require 'jobs/lines'
local line_set = require 'jobs/line_set'
local source = {}
local FEW = 4 -- entries of a line that are found at a time, at least

-- `line`: '' is `inbound`; `first`: index of the first entry that is still in line; `offset`: rank at which the read part of `inbound`
-- begins; `last`: the last member read of another line; `loaded`: index of the last entry whose records are read; `ends`: it reaches the
-- end of the line; `cursor`: the current entry.
function source.new(line)
  return {line = line, first = 1, offset = 0, last = false, loaded = 0, ends = false, cursor = 1}
end

-- With all its fields, because a table that grows field by field is rehashed several times.
function source.entry(id, at, member, own, raw, live)
  return {id = id, place = at, member = member, own = own, raw = raw, live = live, header = false, job = false}
end

-- Is the place of one entry before that of another?
function source.precedes(one, other)
  if one.place ~= other.place then return one.place < other.place end
  return place.arrival_of(one.member) < place.arrival_of(other.member)
end

-- The rank after a place in `inbound` where no job stands, or no longer. Equal places sort by arrival.
local function rank_after(q, from, member)
  local arrival, score = place.arrival_of(member), text.of(from)
  local low, high = write.ask(q, 'ZCOUNT', q.inbound, '-inf', '(' .. score), write.ask(q, 'ZCOUNT', q.inbound, '-inf', score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local found = write.ask(q, 'ZRANGE', q.inbound, text.of(middle), text.of(middle))[1]
    if place.arrival_of(found) <= arrival then low = middle + 1 else high = middle end
  end
  return low
end

-- Begins after a job that may have left since.
function source.begin(q, s, from, member)
  if s.line ~= '' then
    s.last = lines.member(s.line, from, member)
    return
  end
  write.spend(q, 2)
  local rank = tonumber(redis.call('ZSCORE', q.inbound, member)) == from and redis.call('ZRANK', q.inbound, member)
  s.offset = rank and rank + 1 or rank_after(q, from, member)
end

-- Adds the next entries. Returns whether these are all.
local function find_inbound(q, s, limit)
  local from, n = s.offset + #s - s.first + 1, #s
  local found = write.ask(q, 'ZRANGE', q.inbound, from, from + limit - 1, 'WITHSCORES')
  for i = 1, #found, 2 do
    local member = found[i]
    n = n + 1
    s[n] = source.entry(place.id_of(member), tonumber(found[i + 1]), member, member, false, false)
  end
  return #found < limit * 2
end

local function find_in_line(q, s, limit)
  write.spend(q, 1)
  local found, n = line_set.read(q, s.line, s.last, limit), #s
  for i, own in ipairs(found) do
    local at, member = lines.place_of(s.line, own)
    s[n + i] = source.entry(place.id_of(member), at, member, own, false, false)
    s.last = own
  end
  return #found < limit
end

-- Reads the records of the next entries, {source, how many} each. A job that is gone leaves.
local function load(q, those)
  local ids, i = {}, 0
  for _, one in ipairs(those) do
    local s = one[1]
    for at = s.loaded + 1, s.loaded + one[2] do ids[#ids + 1] = s[at].id end
  end
  if #ids == 0 then return end
  local headers, lives = write.ask(q, 'HMGET', q.jobs, unpack(ids)), write.ask(q, 'HMGET', q.live, unpack(ids))
  for _, one in ipairs(those) do
    local s = one[1]
    s.is_prefetched, s.has_routes = false, false
    for _ = 1, one[2] do
      local at = s.loaded + 1
      i = i + 1
      if headers[i] then
        s[at].raw, s[at].live, s.loaded = headers[i], lives[i], at
      else
        write.remove(q, s.line == '' and 'inbound' or 'lines', table.remove(s, at).own)
      end
    end
  end
end

-- Adds the next entries without their records. What left the line in this call must have been written.
local function find(q, s, limit)
  s.ends = (s.line == '' and find_inbound or find_in_line)(q, s, limit)
end

-- The next entry of a source after those that it shares already; finds more while it may. A share: {source, how many of it, how many it
-- may find}.
local function next_of(q, share, step)
  local s, at = share[1], share[1].loaded + share[2] + 1
  if not s[at] and not s.ends and at <= share[3] then find(q, s, math.min(step, share[3] - #s)) end
  return s[at]
end

-- Adds to each share how many of the first `limit` entries of all are its own. A few entries of each source are found at a time, because
-- most lines have only a few of the first.
local function share_out(q, shares, limit)
  local entries, step = {}, math.max(FEW, math.ceil(limit * 2 / #shares))
  for _ = 1, limit do
    local whose = nil
    for i = 1, #shares do
      local entry = entries[i]
      if entry == nil then
        entry = next_of(q, shares[i], step) or false
        entries[i] = entry
      end
      if entry and (not whose or source.precedes(entry, entries[whose])) then whose = i end
    end
    if not whose then break end
    shares[whose][2], entries[whose] = shares[whose][2] + 1, nil
  end
end

-- Finds the first `limit` jobs of some sources, not loaded before, {source, how many of it at most} each, and reads their records.
function source.read_all(q, those, limit)
  local shares, wanted = {}, 0
  for i, one in ipairs(those) do shares[i], wanted = {one[1], 0, one[2]}, wanted + one[2] end
  if wanted > limit then
    share_out(q, shares, limit)
  else
    for _, share in ipairs(shares) do
      find(q, share[1], share[3])
      share[2] = #share[1]
    end
  end
  load(q, shares)
end

-- Reads the records of all that was found.
function source.load_rest(q, s)
  load(q, {{s, #s - s.loaded}})
end

function source.read(q, s, limit)
  find(q, s, limit)
  source.load_rest(q, s)
end

-- The header of an entry whose records are loaded, decoded once.
function source.header(entry)
  entry.header = entry.header or record.header(entry.raw)
  return entry.header
end

-- Adds an entry with its records.
function source.insert(s, at, entry)
  table.insert(s, at, entry)
  s.loaded = s.loaded + 1
end

-- Removes the current entry.
function source.drop(s)
  if s.cursor ~= s.first then
    table.remove(s, s.cursor)
    s.loaded = s.loaded - 1
  else
    s[s.first], s.first = false, s.first + 1
    s.cursor = s.first
  end
end

return source
