-- line: the part of the line that a call has read. Jobs that are taken or blocked leave it; jobs that a worker has skipped stay for
-- the others.
local record = require 'base/record'
local text = require 'base/text'
local write = require 'base/write'
local place = require 'jobs/place'
local order = require 'jobs/order'
local gate = require 'jobs/gate'
local route = require 'jobs/route'
local line = {CANDIDATES = 200, CHUNK = 50}
local SPAN = order.SPAN

-- `first`: index of the first entry that is still in line; `behind`: rank at which the read part begins; `ends`: it reaches the
-- end of the line; `cursor`: the current entry; `looked`: entries that could not be given; `begun`: where the read part begins, if
-- not at the front; `firsts`: the first place before that, by priority.
-- An entry: {id, place, record, live record or false, member}; false once it has left.
local function read_on(q, l, most)
  local from = l.behind + #l - l.first + 1
  local entries, ids = write.ask(q, 'ZRANGE', q.inbound, from, from + most - 1, 'WITHSCORES'), {}
  l.ends, l.is_prefetched, l.has_routes = #entries < most * 2, false, false
  if #entries == 0 then return end
  for i = 1, #entries, 2 do ids[#ids + 1] = place.id_of(entries[i]) end
  local headers, lives = write.ask(q, 'HMGET', q.jobs, unpack(ids)), write.ask(q, 'HMGET', q.live, unpack(ids))
  for i, id in ipairs(ids) do
    if headers[i] then
      l[#l + 1] = {id, tonumber(entries[i * 2]), headers[i], lives[i], entries[i * 2 - 1]}
    else
      write.remove(q, 'inbound', entries[i * 2 - 1]) -- the job is gone
    end
  end
end

-- Inserts a job that the baton put back, unless its place is behind the read part.
local function put_back(q, id, r, header)
  local l = q.line
  local at = l.first
  while at <= #l and (l[at][2] < r.score or l[at][2] == r.score and place.arrival_of(l[at][5]) < r.arrival) do
    at = at + 1
  end
  if at > #l and not l.ends then return end
  table.insert(l, at, {id, r.score, header.raw, record.pack(r), place.member(id, r.arrival)})
  l.cursor = math.min(l.cursor, at)
end

-- An empty read part.
function line.open(q)
  q.line = {first = 1, behind = 0, ends = true, cursor = 1, looked = 0, firsts = {}}
  q.put_back = put_back
end

-- Reads anew from behind a job that may have left meanwhile, or from the front.
function line.read_from(q, from, member, most)
  local l = {first = 1, behind = 0, ends = true, cursor = 1, looked = q.line.looked, firsts = {}}
  q.line = l
  if member ~= '' then
    l.begun = {tonumber(from), member}
    write.spend(q, 2)
    local rank = tonumber(redis.call('ZSCORE', q.inbound, member)) == tonumber(from)
      and redis.call('ZRANK', q.inbound, member)
    l.behind = rank and rank + 1 or redis.call('ZCOUNT', q.inbound, '-inf', '(' .. from)
  end
  read_on(q, l, most)
end

-- Loads the gates of the read part when its first gated job is met.
function line.prefetch(q)
  local l, those = q.line, {}
  if l.is_prefetched then return end
  l.is_prefetched = true
  for at = l.first, #l do
    local header = l[at] and record.header(l[at][3])
    if header and record.is_gated(header) then those[#those + 1] = {id = l[at][1], header = header} end
  end
  gate.prefetch(q, those)
end

-- Loads the routes of the read part when its first job with one is met.
function line.prefetch_routes(q)
  local l, ids, raws = q.line, {}, {}
  if l.has_routes then return end
  l.has_routes = true
  for at = l.first, #l do
    if l[at] then ids[#ids + 1], raws[#raws + 1] = l[at][1], l[at][3] end
  end
  route.prefetch(q, ids, raws)
end

-- The current entry; reads on while the call may look at more. Nil at the end.
function line.current(q)
  local l = q.line
  if l.cursor > #l and not l.ends and l.looked < line.CANDIDATES then
    write.flush(q)
    read_on(q, l, math.min(line.CHUNK, line.CANDIDATES - l.looked))
  end
  return l[l.cursor]
end

-- Removes the current entry.
function line.drop(q)
  local l = q.line
  if l.cursor ~= l.first then
    table.remove(l, l.cursor)
  else
    l[l.first], l.first = false, l.first + 1
    l.cursor = l.first
  end
end

-- Skips the current entry.
function line.pass(q)
  local l = q.line
  l.cursor, l.looked = l.cursor + 1, l.looked + 1
end

-- Removes the current entry, which could not be given.
function line.reject(q)
  q.line.looked = q.line.looked + 1
  line.drop(q)
end

-- The next call of this script starts at the front.
function line.rewind(q)
  q.line.cursor = q.line.first
end

function line.drop_id(q, id)
  local l = q.line
  for at = l.first, #l do
    if l[at][1] == id then
      l.cursor = at
      return line.drop(q)
    end
  end
end

-- The place of the first in line at a priority, and its member.
function line.first_at(q, priority)
  local from, to = text.of(priority * SPAN), '(' .. text.of((priority + 1) * SPAN)
  local first = write.ask(q, 'ZRANGEBYSCORE', q.inbound, from, to, 'WITHSCORES', 'LIMIT', '0', '1')
  return tonumber(first[2]), first[1]
end

-- The first place at a priority before the read part; false for none.
local function first_before(q, l, priority)
  local first = l.firsts[priority]
  if first == nil then
    local at, member = line.first_at(q, priority)
    local begun, arrival = l.begun, at and place.arrival_of(member)
    first = at and (at < begun[1] or at == begun[1] and arrival <= place.arrival_of(begun[2])) and at or false
    l.firsts[priority] = first
  end
  return first
end

-- The first place at a priority that the cursor has passed over; nil if the current entry is the first.
function line.first_passed(q, priority)
  local l = q.line
  local before = l.begun and first_before(q, l, priority)
  if before then return before end
  for at = l.first, l.cursor - 1 do
    if order.priority_of(l[at][2]) == priority then return l[at][2] end
  end
end

return line
