-- turns: what a list of jobs does to the order (jobs/order), for the plain paths: the few clients and priorities of a list
-- are read once and written once. What is kept here between calls is room, and nothing is read that a call has not written.
local order = require 'jobs/order'
local text = require 'base/text'
local turns = {}
local call, pack, unpack_share, unpack = redis.call, struct.pack, struct.unpack, unpack
local floor, max, match = math.floor, math.max, string.match
local SPAN, SHARE = order.SPAN, order.SHARE
-- By client and priority: its member of `turns` ('priority client'), the priority, the highest turn, how many jobs. Then
-- the same by priority alone.
local n, members, priorities, highest, counts = 0, {}, {}, {}, {}
local levels, level_of, tops = 0, {}, {}
local arrived = {}
-- Whose was the last that was handed out.
local served, served_client, served_priority
local to_turns, from_turns, to_tops = {'HSET'}, {'HDEL'}, {'HSET'}

function turns.open()
  n, levels, served_client = 0, 0, nil
end

-- Which of the list's clients that is; most often the same as before.
local function whose(member)
  for k = n, 1, -1 do
    if members[k] == member then return k end
  end
  n = n + 1
  members[n], highest[n], counts[n] = member, 0, 0
  return n
end

-- One more arrival; `place` gives it its place when all are counted.
function turns.arrive(member)
  local k = whose(member)
  counts[k] = counts[k] + 1
  return k
end

local function read_shares(q)
  local raws = call('HMGET', q.turns, unpack(members, 1, n))
  for k = 1, n do
    if raws[k] then
      local last, jobs = unpack_share(SHARE, raws[k])
      raws[k], counts[k] = last, counts[k] + jobs
    else
      raws[k] = 0
    end
  end
  return raws
end

-- What is counted is written; and each client's last place is known from then on.
function turns.write_arrivals(q)
  for k = 1, n do arrived[k], priorities[k] = counts[k], match(members[k], '^%d+') end
  local lasts, top = read_shares(q), call('HMGET', q.tops, unpack(priorities, 1, n))
  to_turns[2] = q.turns
  for k = 1, n do
    highest[k] = max(tonumber(top[k] or 0), lasts[k])
    to_turns[k * 2 + 1], to_turns[k * 2 + 2] = members[k], pack(SHARE, highest[k] + arrived[k], counts[k])
    highest[k] = highest[k] + priorities[k] * SPAN
  end
  call(unpack(to_turns, 1, n * 2 + 2))
end

-- The place of the next of them.
function turns.place(k)
  local place = highest[k] + 1
  highest[k] = place
  return place
end

-- One is handed out, in order; nobody is passed over.
function turns.serve(score, is_unserved, client)
  local priority = floor(score / SPAN)
  local turn = score - priority * SPAN
  if levels == 0 or level_of[levels] ~= priority then
    levels = levels + 1
    level_of[levels] = priority
  end
  tops[levels] = turn
  if not is_unserved then return end
  local k = served
  if client ~= served_client or priority ~= served_priority then
    k = whose(priority .. ' ' .. client)
    served, served_client, served_priority = k, client, priority
  end
  highest[k], counts[k] = turn, counts[k] - 1
end

local function write_shares(q)
  if n == 0 then return end
  local lasts, kept, left = read_shares(q), 0, 0
  for k = 1, n do
    if counts[k] > 0 then
      local last = lasts[k] == highest[k] and lasts[k] - 1 or lasts[k]
      kept = kept + 1
      to_turns[kept * 2 + 1], to_turns[kept * 2 + 2] = members[k], pack(SHARE, last, counts[k])
    else
      left = left + 1
      from_turns[left + 2] = members[k]
    end
  end
  to_turns[2], from_turns[2] = q.turns, q.turns
  if kept > 0 then call(unpack(to_turns, 1, kept * 2 + 2)) end
  if left > 0 then call(unpack(from_turns, 1, left + 2)) end
end

-- V rises to the last turn that was handed out, and never falls.
function turns.write_served(q)
  write_shares(q)
  local before, moved = call('HMGET', q.tops, unpack(level_of, 1, levels)), 0
  for level = 1, levels do
    if tops[level] > tonumber(before[level] or 0) then
      moved = moved + 1
      to_tops[moved * 2 + 1], to_tops[moved * 2 + 2] = text.of(level_of[level]), text.of(tops[level])
    end
  end
  to_tops[2] = q.tops
  if moved > 0 then call(unpack(to_tops, 1, moved * 2 + 2)) end
end

return turns
