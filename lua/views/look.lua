-- look: the state of one queue for a reserve over several.   reads only
-- FLAGS  no-writes
-- KEYS   inbound zset · reserved zset · delayed zset · parked zset · held zset · restricted zset · lines zset · live hash
-- KEYS   settings hash
-- ARGV   worker ('' = unnamed), nonce of the call, the worker's skills (none = '') as jobs/ask reads them, then the lines to count
-- REPLY  {now ms, worker at the limit (0 | 1), this very call was answered before (0 | 1), a job can be had (0 | 1),
-- REPLY  {since ms of each live reservation of the worker …},
-- REPLY  {waiting for all or in a line of the worker, blocked, delayed, reserved, paused (0 | 1), next ms (-1 = never),
-- REPLY  restricted = waiting for some workers only}, {how many wait in each line to count …}}
local record = require 'base/record'
local clock = require 'base/clock'
local first_of = require 'base/first'
local ask = require 'jobs/ask'
local place = require 'jobs/place'
local line_set = require 'jobs/line_set'
local HELD = '$MAX_HELD'
local call, huge = redis.call, math.huge

-- When a worker's live reservations began.
local function held_since(q, worker)
  local since, now = {}, clock.now(q)
  if worker == '' then return since end
  local mine = call('ZRANGEBYLEX', q.held, '[' .. worker .. '\0', '(' .. worker .. '\1', 'LIMIT', '0', HELD)
  if #mine == 0 then return since end
  for i, member in ipairs(mine) do mine[i] = place.id_of(member) end
  local deadlines, lives = call('ZMSCORE', q.reserved, unpack(mine)), call('HMGET', q.live, unpack(mine))
  for i = 1, #mine do
    local r = tonumber(deadlines[i] or 0) > now and lives[i] and record.live(lives[i])
    if r and r.lease ~= '' then since[#since + 1] = record.lease(r.lease).reserved_at end
  end
  return since
end

-- How many jobs wait for the worker, and how many in each of the asked lines.
local function waiting_for(q, args, restricted)
  local waiting, asked = call('ZCARD', q.inbound), {}
  for i = 4, #args do asked[i - 3] = restricted > 0 and line_set.count(q, args[i]) or 0 end
  if restricted > 0 then
    for _, line in ipairs(ask.lines(args[1], ask.skills(args[3]))) do waiting = waiting + line_set.count(q, line) end
  end
  return waiting, asked
end

return function(q, args)
  local worker, nonce, now = args[1], args[2], clock.now(q)
  local chosen = call('HMGET', q.settings, 'paused', 'worker_limit')
  local limit, paused = tonumber(chosen[2] or $WORKER_LIMIT), chosen[1] == '1'
  local since, own = held_since(q, worker), worker .. '\0' .. nonce
  local replayed = call('ZLEXCOUNT', q.held, '[' .. own .. '\0', '(' .. own .. '\1') > 0
  local at_limit = limit > 0 and worker ~= '' and #since >= limit
  local next_at, restricted = math.min(first_of(q.reserved), first_of(q.delayed)), call('ZCARD', q.restricted)
  local waiting, asked = waiting_for(q, args, restricted)
  local can = not paused and (waiting > 0 or next_at <= now)

  return {
    now, at_limit and 1 or 0, replayed and 1 or 0, can and 1 or 0, since,
    {waiting, call('ZCARD', q.parked), call('ZCARD', q.delayed), call('ZCARD', q.reserved), paused and 1 or 0,
      next_at < huge and math.max(next_at - now, 0) or -1, restricted},
    asked,
  }
end
