-- order: start-time fair queueing within a priority. score = priority * 2^46 + turn, turn = max(V, client's last) + 1.
local write = require 'base/write'
local text = require 'base/text'
local stamp = require 'base/stamp'
local order = {}
local call, pack, unpack_share = redis.call, struct.pack, struct.unpack
local floor, max, min, of = math.floor, math.max, math.min, text.of
-- A client's share in `turns`: the last turn it was given, and how many of its jobs have not been handed out.
local SPAN, SHARE = $SPAN, '>I6I4'
order.SPAN = SPAN

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
    write.set(q, 'tops', priority, of(q.order.tops[priority]))
  end
end

-- `tops`: V by priority; `moved`: changed ones; `shares`: as share_of names it -> {last turn, jobs}; `unread`: turns returned to
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

-- The field of a share in `turns`.
local function share_of(priority, client)
  return of(priority) .. ' ' .. client
end

-- The share of a client, if it was read.
function order.is_loaded(q, priority, client)
  return state_of(q).shares[share_of(priority, client)]
end

-- Which of these fields are not there yet, each once, and their values.
local function missing(key, fields, is_there)
  local unread, asked = {}, {}
  for i = 1, #fields do
    local field = fields[i]
    if not is_there[field] and not asked[field] then asked[field], unread[#unread + 1] = true, field end
  end
  return unread, #unread > 0 and call('HMGET', key, unpack(unread)) or {}
end

-- Reads at once the shares and the tops that new jobs with these headers need, and that this call has not yet.
function order.prefetch(q, headers)
  local state, members, priorities = state_of(q), {}, {}
  for i = 1, #headers do
    priorities[i], members[i] = headers[i].priority, share_of(headers[i].priority, headers[i].client)
  end
  local unread, found = missing(q.turns, members, state.shares)
  for i = 1, #unread do order.load(state, unread[i], found[i]) end
  unread, found = missing(q.tops, priorities, state.tops)
  for i = 1, #unread do state.tops[unread[i]] = tonumber(found[i] or 0) end
end

-- Gives a new arrival its place.
function order.new_place(q, priority, client)
  local state, member = state_of(q), share_of(priority, client)
  local share = state.shares[member] or order.load(state, member, call('HGET', q.turns, member))
  share.last, share.jobs = max(top(q, state, priority), share.last) + 1, share.jobs + 1
  return priority * SPAN + share.last
end

-- Returns the turn of a job, which counts no more.
local function return_turn(state, r, priority, client)
  r.unserved = false
  local member, turn = share_of(priority, client), r.score - priority * SPAN
  if state.shares[member] then return take_off(state.shares[member], turn) end
  local given = state.unread[member]
  if given then given[#given + 1] = turn else state.unread[member] = {turn} end
end

-- Returns the turn of a job that leaves for good, unless it was handed out before.
function order.give_back(q, r, client)
  if r.unserved then return_turn(state_of(q), r, floor(r.score / SPAN), client) end
end

-- Gives a job that was there before a new place.
function order.arrive(q, r, priority, client)
  order.give_back(q, r, client)
  r.score, r.arrival, r.unserved = order.new_place(q, priority, client), stamp.new(q), true
end

-- Raises V to the turn of a job that is handed out, but not up to the first job that was passed over, whose place `first_passed`
-- finds. V never falls.
local function raise(q, state, priority, score, first_passed)
  local v, base = top(q, state, priority), priority * SPAN
  if score - base <= v then return end
  local first = first_passed(q, priority)
  local turn = (first and min(score, first - 1) or score) - base
  if turn > v then state.tops[priority], state.moved[priority] = turn, true end
end

-- A job is handed out. Returns its priority.
function order.hand_out(q, r, client, first_passed)
  local state, priority = state_of(q), floor(r.score / SPAN)
  raise(q, state, priority, r.score, first_passed)
  if r.unserved then return_turn(state, r, priority, client) end
  return priority
end

return order
