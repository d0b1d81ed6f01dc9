-- turns: the list form of jobs/order: reads and writes each client and priority of a list once. The tables are reused between
-- calls; a call reads only the entries that it has written.
local order = require 'jobs/order'
local text = require 'base/text'
local fields_of = require 'plain/fields'
local turns = {}
local call, pack, unpack_share, unpack = redis.call, struct.pack, struct.unpack, unpack
local max, of = math.max, text.of
local SPAN, SHARE = order.SPAN, order.SHARE
-- By client and priority: its member of `turns` ('priority client'), the priority as text, the highest turn, how many jobs.
-- Then the same by priority alone.
local n, members, priorities, highest, counts = 0, {}, {}, {}, {}
local levels, level_of, names, tops = 0, {}, {}, {}
local arrived, one_share, one_top = {}, {}, {}
local run, run_turn, run_client, run_unserved, run_base = 0, nil, nil, nil, nil
local to_turns, from_turns, to_tops = {'HSET'}, {'HDEL'}, {'HSET'}

function turns.open()
  n, levels, run, run_client = 0, 0, 0, nil
end

-- The index of a client at a priority in this list's tables.
function turns.share(priority, client)
  local spelled = of(priority)
  local member = spelled .. ' ' .. client
  for k = n, 1, -1 do
    if members[k] == member then return k end
  end
  n = n + 1
  members[n], priorities[n], highest[n], counts[n], arrived[n] = member, spelled, 0, 0, 0
  return n
end

local function read_shares(q)
  local raws = fields_of(q.turns, members, 1, n, one_share)
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

-- Counts the arrivals, given by their shares, and writes the place of each into `places`.
function turns.arrive(q, shares, jobs, places)
  for i = 1, jobs do
    local k = shares[i]
    arrived[k] = arrived[k] + 1
  end
  local lasts, top = read_shares(q), fields_of(q.tops, priorities, 1, n, one_top)
  for k = 1, n do
    local base = max(tonumber(top[k] or 0), lasts[k])
    to_turns[k * 2 + 1], to_turns[k * 2 + 2] = members[k], pack(SHARE, base + arrived[k], counts[k] + arrived[k])
    highest[k] = base + priorities[k] * SPAN
  end
  for i = 1, jobs do
    local k = shares[i]
    local place = highest[k] + 1
    highest[k], places[i] = place, place
  end
end

function turns.write_arrivals(q)
  to_turns[2] = q.turns
  call(unpack(to_turns, 1, n * 2 + 2))
end

-- Ends a run of jobs of one client and priority that were handed out in sequence.
local function end_run()
  if run == 0 then return end
  local priority = run_base / SPAN
  if levels == 0 or level_of[levels] ~= run_base then
    levels = levels + 1
    level_of[levels], names[levels] = run_base, of(priority)
  end
  tops[levels] = run_turn
  if not run_unserved then return end
  local k = turns.share(priority, run_client)
  highest[k], counts[k] = run_turn, counts[k] - run
end

-- Hands out the next job in line; no job is passed over. `unserved`: it is handed out for the first time.
function turns.serve(score, client, unserved)
  local turn = score % SPAN
  if client ~= run_client or unserved ~= run_unserved or score - turn ~= run_base then
    end_run()
    run, run_client, run_unserved, run_base = 0, client, unserved, score - turn
  end
  run, run_turn = run + 1, turn
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
  end_run()
  write_shares(q)
  local before, moved = fields_of(q.tops, names, 1, levels, one_top), 0
  for level = 1, levels do
    if tops[level] > tonumber(before[level] or 0) then
      moved = moved + 1
      to_tops[moved * 2 + 1], to_tops[moved * 2 + 2] = names[level], of(tops[level])
    end
  end
  to_tops[2] = q.tops
  if moved > 0 then call(unpack(to_tops, 1, moved * 2 + 2)) end
end

return turns
