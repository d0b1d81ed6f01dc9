-- order: start-time fair queueing within a priority. score = priority * 2^46 + turn, turn = max(V, client's last) + 1.
local write = require 'base/write'
local text = require 'base/text'
local stamp = require 'base/stamp'
local order = {}
local call, floor, max, min = redis.call, math.floor, math.max, math.min
-- What a client has in line, in `turns`: the last turn it was given, and how many of its jobs nobody has had yet.
local SPAN, SHARE = $SPAN, '>I6I4'
order.SPAN, order.SHARE = SPAN, SHARE

function order.priority_of(score)
  return floor(score / SPAN)
end

-- Who has no job left leaves nothing behind.
local function write_shares(q, state)
  local members = {}
  for member in pairs(state.unread) do members[#members + 1] = member end
  if #members > 0 then
    for i, raw in ipairs(call('HMGET', q.turns, unpack(members))) do order.know(state, members[i], raw) end
  end
  for member, share in pairs(state.shares) do
    if share.jobs > 0 then
      write.set(q, 'turns', member, struct.pack(SHARE, share.last, share.jobs))
    else
      write.delete(q, 'turns', member)
    end
  end
end

-- Each share and V once, however many jobs of the list moved it.
local function write_order(q)
  write_shares(q, q.order)
  for priority in pairs(q.order.moved) do
    write.set(q, 'tops', priority, text.of(q.order.tops[priority]))
  end
end

-- V by priority, and which of them moved; 'priority client' -> {last turn, jobs}; turns given back of those that were not
-- read yet.
local function state_of(q)
  local state = q.order
  if not state then
    state = {tops = {}, moved = {}, shares = {}, unread = {}}
    q.order = state
    write.finally(q, write_order)
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

-- One job less that nobody has had. The last turn is free again; one in the middle stays, as others stand behind it.
local function take_off(share, turn)
  share.jobs = share.jobs - 1
  if turn == share.last then share.last = turn - 1 end
end

-- As it was read, less what was given back meanwhile.
function order.know(state, member, raw)
  local share = {last = 0, jobs = 0}
  if raw then share.last, share.jobs = struct.unpack(SHARE, raw) end
  for _, turn in ipairs(state.unread[member] or {}) do take_off(share, turn) end
  state.unread[member], state.shares[member] = nil, share
  return share
end

-- Has the share of a client been read?
function order.knows(q, priority, client)
  return state_of(q).shares[priority .. ' ' .. client]
end

-- The place of a new arrival.
function order.new_place(q, priority, client)
  local state, member = state_of(q), priority .. ' ' .. client
  local share = state.shares[member] or order.know(state, member, call('HGET', q.turns, member))
  share.last, share.jobs = max(top(q, state, priority), share.last) + 1, share.jobs + 1
  return priority * SPAN + share.last
end

-- The turn of a job that is handed out, or leaves for good, counts no longer; that of one handed out before did not.
function order.give_back(q, r, client)
  if not r.unserved then return end
  r.unserved = false
  local state, priority = state_of(q), floor(r.score / SPAN)
  local member, turn = priority .. ' ' .. client, r.score - priority * SPAN
  if state.shares[member] then return take_off(state.shares[member], turn) end
  local given = state.unread[member]
  if given then given[#given + 1] = turn else state.unread[member] = {turn} end
end

-- A job that comes anew, though it was there before.
function order.arrive(q, r, priority, client)
  order.give_back(q, r, client)
  r.score, r.arrival, r.unserved = order.new_place(q, priority, client), stamp.new(q), true
end

-- V never falls, whoever is handed out again, and does not come up to the first who stays in line: `first_passed` finds
-- the place of that, nil when nobody was passed.
function order.handed_out(q, score, first_passed)
  local state, priority = state_of(q), floor(score / SPAN)
  local v, base = top(q, state, priority), priority * SPAN
  if score - base <= v then return end
  local first = first_passed(q, priority)
  local turn = (first and min(score, first - 1) or score) - base
  if turn > v then state.tops[priority], state.moved[priority] = turn, true end
end

return order
