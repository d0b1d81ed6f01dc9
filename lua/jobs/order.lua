-- order: start-time fair queueing within a priority. score = priority * 2^46 + turn, turn = max(V, client's last) + 1. It has two forms:
-- job by job in the state of a call, and `turns` for the lists of the fast paths.
local write = require 'base/write'
local text = require 'base/text'
local stamp = require 'base/stamp'
local fields_of = require 'base/fields'
local order, turns = {}, {}
local call, pack, unpack_share, unpack = redis.call, struct.pack, struct.unpack, unpack
local floor, max, min, huge = math.floor, math.max, math.min, math.huge
-- A client's share in `turns`: the last turn it was given, and how many of its jobs have not been handed out.
local SPAN, SHARE = $SPAN, '>I6I4'
order.SPAN, order.turns = SPAN, turns

function order.priority_of(score)
  return floor(score / SPAN)
end

-- Writes the shares; one without jobs is deleted.
local function write_shares(q, state)
  local members = {}
  for member in pairs(state.unread) do members[#members + 1] = member end
  if #members > 0 then
    for i, raw in ipairs(call('HMGET', q.turns, unpack(members))) do order.load(state, members[i], raw) end
  end
  for member, share in pairs(state.shares) do
    if share.jobs > 0 then
      write.set(q, 'turns', member, pack(SHARE, share.last, share.jobs))
    else
      write.delete(q, 'turns', member)
    end
  end
end

-- Writes each share and V once per call.
local function write_order(q)
  write_shares(q, q.order)
  for priority in pairs(q.order.moved) do
    write.set(q, 'tops', priority, text.of(q.order.tops[priority]))
  end
end

-- `tops`: V by priority; `moved`: changed ones; `shares`: 'priority client' -> {last turn, jobs}; `unread`: turns returned to
-- shares that were not read yet.
local function state_of(q)
  local state = q.order
  if not state then
    state = {tops = {}, moved = {}, shares = {}, unread = {}}
    q.order = state
    write.at_commit(q, write_order)
  end
  return state
end

local function top(q, state, priority)
  local v = state.tops[priority]
  if not v then
    v = tonumber(call('HGET', q.tops, priority) or 0)
    state.tops[priority] = v
  end
  return v
end

-- One unserved job less. Its turn is free again if it was the last; a client without unserved jobs has no turn.
local function take_off(share, turn)
  share.jobs = share.jobs - 1
  if share.jobs == 0 then
    share.last = 0
  elseif turn == share.last then
    share.last = turn - 1
  end
end

-- Decodes a share and applies the turns that were returned before it was read.
function order.load(state, member, raw)
  local share = {last = 0, jobs = 0}
  if raw then share.last, share.jobs = unpack_share(SHARE, raw) end
  for _, turn in ipairs(state.unread[member] or {}) do take_off(share, turn) end
  state.unread[member], state.shares[member] = nil, share
  return share
end

-- The share of a client, if it was read.
function order.is_loaded(q, priority, client)
  return state_of(q).shares[priority .. ' ' .. client]
end

-- Gives a new arrival its place.
function order.new_place(q, priority, client)
  local state, member = state_of(q), priority .. ' ' .. client
  local share = state.shares[member] or order.load(state, member, call('HGET', q.turns, member))
  share.last, share.jobs = max(top(q, state, priority), share.last) + 1, share.jobs + 1
  return priority * SPAN + share.last
end

-- Returns the turn of a job that is handed out for the first time or leaves for good.
function order.give_back(q, r, client)
  if not r.unserved then return end
  r.unserved = false
  local state, priority = state_of(q), floor(r.score / SPAN)
  local member, turn = priority .. ' ' .. client, r.score - priority * SPAN
  if state.shares[member] then return take_off(state.shares[member], turn) end
  local given = state.unread[member]
  if given then given[#given + 1] = turn else state.unread[member] = {turn} end
end

-- Gives a job that was there before a new place.
function order.arrive(q, r, priority, client)
  order.give_back(q, r, client)
  r.score, r.arrival, r.unserved = order.new_place(q, priority, client), stamp.new(q), true
end

-- Raises V to the turn of a job that is handed out, but not up to the first job that was passed over, whose place `first_passed`
-- finds. V never falls.
function order.handed_out(q, score, first_passed)
  local state, priority = state_of(q), floor(score / SPAN)
  local v, base = top(q, state, priority), priority * SPAN
  if score - base <= v then return end
  local first = first_passed(q, priority)
  local turn = (first and min(score, first - 1) or score) - base
  if turn > v then state.tops[priority], state.moved[priority] = turn, true end
end

-- The list form. It reads and writes each client and priority of a list once. The tables are reused between calls; a call reads only
-- the entries that it has written.

-- By client and priority: its member of `turns` ('priority client'), the priority as text, the last place of an arrival, how many jobs.
-- Then the same by priority alone.
local n, members, priorities, highest, counts = 0, {}, {}, {}, {}
local levels, level_of, names, tops = 0, {}, {}, {}
local arrived, one_share, one_top = {}, {}, {}
local run, run_turn, run_most, run_client, run_unserved, run_base = 0, nil, nil, nil, nil, nil
local runs, run_shares, run_turns = 0, {}, {} -- of jobs that were handed out for the first time: the share, and the last turn
local to_turns, from_turns, to_tops = {'HSET'}, {'HDEL'}, {'HSET'}

function turns.open()
  n, levels, run, runs, run_client = 0, 0, 0, 0, nil
end

-- The index of a client at a priority in this list's tables.
function turns.share(priority, client)
  local spelled = text.of(priority)
  local member = spelled .. ' ' .. client
  for k = n, 1, -1 do
    if members[k] == member then return k end
  end
  n = n + 1
  members[n], priorities[n], counts[n], arrived[n] = member, spelled, 0, 0
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
  local lasts, v = read_shares(q), fields_of(q.tops, priorities, 1, n, one_top)
  for k = 1, n do
    local base = max(tonumber(v[k] or 0), lasts[k])
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

local function level_at(base)
  for level = levels, 1, -1 do
    if level_of[level] == base then return level end
  end
  levels = levels + 1
  level_of[levels], names[levels], tops[levels] = base, text.of(base / SPAN), 0
  return levels
end

-- Ends a run of jobs of one client and priority that were handed out in sequence, each with a later turn.
local function end_run()
  if run == 0 then return end
  local level = level_at(run_base)
  tops[level] = max(tops[level], min(run_turn, run_most))
  if not run_unserved then return end
  local k = turns.share(run_base / SPAN, run_client)
  runs, counts[k] = runs + 1, counts[k] - run
  run_shares[runs], run_turns[runs] = k, run_turn
end

-- Hands out the next job in line; no job is passed over. `unserved`: it is handed out for the first time. `most`: V does not rise above
-- this turn; nil or false for a job of everybody's line.
function turns.serve(score, client, unserved, most)
  local turn = score % SPAN
  if client ~= run_client or unserved ~= run_unserved or score - turn ~= run_base or turn <= run_turn then
    end_run()
    run, run_client, run_unserved, run_base = 0, client, unserved, score - turn
  end
  run, run_turn, run_most = run + 1, turn, most or huge
end

local function write_listed_shares(q)
  if n == 0 then return end
  local lasts, kept, left = read_shares(q), 0, 0
  for i = 1, runs do
    local k = run_shares[i]
    if lasts[k] == run_turns[i] then lasts[k] = lasts[k] - 1 end
  end
  for k = 1, n do
    if counts[k] > 0 then
      kept = kept + 1
      to_turns[kept * 2 + 1], to_turns[kept * 2 + 2] = members[k], pack(SHARE, lasts[k], counts[k])
    else
      left = left + 1
      from_turns[left + 2] = members[k]
    end
  end
  to_turns[2], from_turns[2] = q.turns, q.turns
  if kept > 0 then call(unpack(to_turns, 1, kept * 2 + 2)) end
  if left > 0 then call(unpack(from_turns, 1, left + 2)) end
end

-- V rises to the highest turn that was handed out, and never falls.
function turns.write_served(q)
  end_run()
  write_listed_shares(q)
  local before, moved = fields_of(q.tops, names, 1, levels, one_top), 0
  for level = 1, levels do
    if tops[level] > tonumber(before[level] or 0) then
      moved = moved + 1
      to_tops[moved * 2 + 1], to_tops[moved * 2 + 2] = names[level], text.of(tops[level])
    end
  end
  to_tops[2] = q.tops
  if moved > 0 then call(unpack(to_tops, 1, moved * 2 + 2)) end
end

return order
