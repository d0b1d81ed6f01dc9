-- line: the head of the line, as far as a script has read it. Who is taken or blocked leaves it; whom somebody has
-- skipped stays for the others.
-- USES   write record place gate baton order
-- KEYS   inbound zset · jobs hash · live hash
local CANDIDATES, CHUNK = 200, 50
local line, line_at = {}, 1               -- {id, place, record, live record or false, member}; the first still in it
local line_from, line_ends = 0, true      -- how many stand before it; whether nobody stands behind it
local cursor, looked = 1, 0               -- who is looked at; how many could not be given
local behind, firsts = nil, {}            -- where the line was begun, if not at the front; who stands before, by priority
local drop_strays, is_foreseen = begin('ZREM', inbound), false

local function read_on(most)
  local from = line_from + #line - line_at + 1
  local entries, ids = ask('ZRANGE', inbound, from, from + most - 1, 'WITHSCORES'), {}
  line_ends, is_foreseen = #entries < most * 2, false
  if #entries == 0 then return end
  for i = 1, #entries, 2 do ids[#ids + 1] = id_of(entries[i]) end
  local headers, records = ask('HMGET', jobs, unpack(ids)), ask('HMGET', live, unpack(ids))
  for i, id in ipairs(ids) do
    if headers[i] then
      line[#line + 1] = {id, tonumber(entries[i * 2]), headers[i], records[i], entries[i * 2 - 1]}
    else
      add(drop_strays, entries[i * 2 - 1]) -- nobody stands there
    end
  end
end

-- The gates of those who were read, when the first of them turns out to need any.
local function foresee_line()
  if is_foreseen then return end
  local those = {}
  is_foreseen = true
  for at = line_at, #line do
    local header = line[at] and read_header(line[at][3])
    if header and is_gated(header) then those[#those + 1] = {id = line[at][1], header = header} end
  end
  foresee_gates(those)
end

-- Begins anew behind a job that was looked at before, which may have left meanwhile; or at the front.
local function read_from(place, member, most)
  line, line_at, line_from = {}, 1, 0
  behind, firsts = member ~= '' and {tonumber(place), member}, {}
  if member ~= '' then
    spend(2)
    local rank = tonumber(redis.call('ZSCORE', inbound, member)) == tonumber(place) and redis.call('ZRANK', inbound, member)
    line_from = rank and rank + 1 or redis.call('ZCOUNT', inbound, '-inf', '(' .. place)
  end
  read_on(most)
end

-- Is there somebody to look at? Others are read in, as long as the script may look at more.
local function somebody()
  if cursor > #line and not line_ends and looked < CANDIDATES then
    write_so_far()
    read_on(math.min(CHUNK, CANDIDATES - looked))
  end
  return cursor <= #line
end

-- Whoever is looked at leaves the line.
local function drop()
  if cursor ~= line_at then return table.remove(line, cursor) end
  line[line_at], line_at = false, line_at + 1
  cursor = line_at
end

local function drop_id(id)
  for at = line_at, #line do
    if line[at][1] == id then
      cursor = at
      return drop()
    end
  end
end

-- The place of the first in line at a priority, and its member.
local function first_in_line(priority)
  local from, to = digits(priority * SPAN), '(' .. digits((priority + 1) * SPAN)
  local first = ask('ZRANGEBYSCORE', inbound, from, to, 'WITHSCORES', 'LIMIT', 0, 1)
  return tonumber(first[2]), first[1]
end

-- The place of the first at a priority who is passed over as the cursor stands; nil when it is the first who is taken.
local function first_passed(priority)
  if behind and firsts[priority] == nil then
    local place, member = first_in_line(priority)
    local is_passed = place and (place < behind[1] or place == behind[1] and arrival_of(member) <= arrival_of(behind[2]))
    firsts[priority] = is_passed and place or false
  end
  if firsts[priority] then return firsts[priority] end
  for at = line_at, cursor - 1 do
    if priority_of(line[at][2]) == priority then return line[at][2] end
  end
end

-- A job that the baton put back has its place among those that were read, or is read with those behind them.
put_back = function(id, r, header)
  local at = line_at
  while at <= #line and (line[at][2] < r.score or line[at][2] == r.score and arrival_of(line[at][5]) < r.arrival) do at = at + 1 end
  if at > #line and not line_ends then return end
  table.insert(line, at, {id, r.score, header.raw, pack_live(r), in_line(id, r.arrival)})
  cursor = math.min(cursor, at)
end
