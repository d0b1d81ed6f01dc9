-- order: start-time fair queueing within a priority. score = priority * 2^46 + turn, turn = max(V, client's last) + 1.
-- USES   write
-- KEYS   turns zset · tops hash
local SPAN = $SPAN
local tops_seen, tops_moved, lasts_seen, lasts_moved = {}, {}, {}, {}

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

-- The place of a new arrival.
local function new_place(priority, client)
  local member, base = priority .. ' ' .. client, priority * SPAN
  local last = lasts_seen[member] or tonumber(redis.call('ZSCORE', turns, member) or 0)
  local score = base + math.max(top(priority), last - base) + 1
  lasts_seen[member], lasts_moved[member] = score, true
  return score
end

-- V never falls, whoever is handed out again.
local function handed_out(score)
  local priority = priority_of(score)
  local turn = score - priority * SPAN
  if turn > top(priority) then
    tops_seen[priority], tops_moved[priority] = turn, true
  end
end

-- A client's turn at or below V says no more than V itself: such turns go, a few at a time.
local function forget_turns(priority, few)
  local base = priority * SPAN
  local past = redis.call('ZRANGEBYSCORE', turns, base, base + tops_seen[priority], 'LIMIT', 0, few)
  if #past > 0 then redis.call('ZREM', turns, unpack(past)) end
end

-- Each turn and V once, however many jobs of the list moved it.
local function write_order(few)
  local write_turns = {'ZADD', turns}
  for member in pairs(lasts_moved) do add(write_turns, digits(lasts_seen[member]), member) end
  if #write_turns > 2 then redis.call(unpack(write_turns)) end
  for priority in pairs(tops_moved) do
    redis.call('HSET', tops, priority, digits(tops_seen[priority]))
    forget_turns(priority, few)
  end
end
