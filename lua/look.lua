-- look: what a reserve over several queues needs to know of one.   reads only
-- FLAGS  no-writes
-- USES   clock record
-- KEYS   inbound zset · reserved zset · delayed zset · parked zset · held zset · live hash · settings hash
-- ARGV   worker ('' = unnamed), nonce of the call
-- REPLY  {now ms, worker at the limit (0 | 1), this very call was answered before (0 | 1), a job can be had (0 | 1),
-- REPLY  {since ms of each live reservation of the worker …},
-- REPLY  {waiting, blocked, delayed, reserved, paused (0 | 1), next ms (-1 = never)}}
local worker, nonce, HELD = ARGV[1], ARGV[2], 200
local chosen = redis.call('HMGET', settings, 'paused', 'worker_limit')
local limit = tonumber(chosen[2] or $WORKER_LIMIT)

local since = {}
if worker ~= '' then
  local mine = redis.call('ZRANGEBYLEX', held, '[' .. worker .. '\0', '(' .. worker .. '\1', 'LIMIT', 0, HELD)
  for i, member in ipairs(mine) do mine[i] = member:sub(-26) end
  local deadlines = #mine > 0 and redis.call('ZMSCORE', reserved, unpack(mine))
  local records = #mine > 0 and redis.call('HMGET', live, unpack(mine))
  for i = 1, #mine do
    local r = tonumber(deadlines[i] or 0) > now and records[i] and read_live(records[i])
    if r and r.hold ~= '' then since[#since + 1] = read_hold(r.hold).reserved_at end
  end
end
local own = worker .. '\0' .. nonce
local replayed = redis.call('ZLEXCOUNT', held, '[' .. own .. '\0', '(' .. own .. '\1') > 0
local at_limit = limit > 0 and worker ~= '' and #since >= limit
local deadline = tonumber(redis.call('ZRANGE', reserved, 0, 0, 'WITHSCORES')[2] or math.huge)
local due_at = tonumber(redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')[2] or math.huge)
local next_at, waiting = math.min(deadline, due_at), redis.call('ZCARD', inbound)
local paused = chosen[1] == '1'
local can = not paused and (waiting > 0 or next_at <= now)

return {
  now, at_limit and 1 or 0, replayed and 1 or 0, can and 1 or 0, since,
  {waiting, redis.call('ZCARD', parked), redis.call('ZCARD', delayed), redis.call('ZCARD', reserved), paused and 1 or 0,
    next_at < math.huge and math.max(next_at - now, 0) or -1},
}
