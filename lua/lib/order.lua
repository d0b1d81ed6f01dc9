-- order: start-time fair queueing within a priority. score = priority * 2^46 + turn, turn = max(V, client's last) + 1.
-- USES   write stamp
-- KEYS   turns hash · tops hash
local SPAN, SHARE = $SPAN, '>I6I4'
local tops_seen, tops_moved = {}, {}
local shares, unread = {}, {} -- 'priority client' -> {last turn, jobs}; turns given back of those that were not read yet

local function priority_of(score)
  return math.floor(score / SPAN)
end

local function top(priority)
  local v = tops_seen[priority]
  if not v then
    v = tonumber(redis.call('HGET', tops, priority) or 0)
    tops_seen[priority] = v
  end
  return v
end

-- One job less that nobody has had. The last turn is free again; one in the middle stays, as others stand behind it.
local function take_off(share, turn)
  share.jobs = share.jobs - 1
  if turn == share.last then share.last = turn - 1 end
end

-- What a client has in line: the last turn it was given, and how many of its jobs nobody has had yet.
local function know_share(member, raw)
  local share = {last = 0, jobs = 0}
  if raw then share.last, share.jobs = struct.unpack(SHARE, raw) end
  for _, turn in ipairs(unread[member] or {}) do take_off(share, turn) end
  unread[member], shares[member] = nil, share
  return share
end

-- The place of a new arrival.
local function new_place(priority, client)
  local member = priority .. ' ' .. client
  local share = shares[member] or know_share(member, redis.call('HGET', turns, member))
  share.last, share.jobs = math.max(top(priority), share.last) + 1, share.jobs + 1
  return priority * SPAN + share.last
end

-- The turn of a job that is handed out, or leaves for good, counts no longer; that of one handed out before did not.
local function give_back(r, client)
  if not r.unserved then return end
  r.unserved = false
  local priority = priority_of(r.score)
  local member, turn = priority .. ' ' .. client, r.score - priority * SPAN
  if shares[member] then return take_off(shares[member], turn) end
  unread[member] = unread[member] or {}
  table.insert(unread[member], turn)
end

-- A job that comes anew, though it was there before.
local function arrive(r, priority, client)
  give_back(r, client)
  r.score, r.arrival, r.unserved = new_place(priority, client), new_stamp(), true
end

-- V never falls, whoever is handed out again, and does not come up to the first who stays in line: `first_passed` finds
-- the place of that, nil when nobody was passed.
local function handed_out(score, first_passed)
  local priority = priority_of(score)
  local v, base = top(priority), priority * SPAN
  if score - base <= v then return end
  local first = first_passed(priority)
  local turn = (first and math.min(score, first - 1) or score) - base
  if turn > v then tops_seen[priority], tops_moved[priority] = turn, true end
end

-- Each share and V once, however many jobs of the list moved it. Who has no job left leaves nothing.
local function write_order()
  local members = {}
  for member in pairs(unread) do members[#members + 1] = member end
  if #members > 0 then
    for i, raw in ipairs(redis.call('HMGET', turns, unpack(members))) do know_share(members[i], raw) end
  end
  local kept, left, moved = {'HSET', turns}, {'HDEL', turns}, {'HSET', tops}
  for member, share in pairs(shares) do
    if share.jobs > 0 then add(kept, member, struct.pack(SHARE, share.last, share.jobs)) else add(left, member) end
  end
  for priority in pairs(tops_moved) do add(moved, priority, digits(tops_seen[priority])) end
  for _, command in ipairs({kept, left, moved}) do
    if #command > 2 then redis.call(unpack(command)) end
  end
end
