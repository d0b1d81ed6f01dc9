-- stats: counts, settings and totals of a queue.   reads only
-- FLAGS  no-writes
-- USES   clock record place
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · jobs hash ·
-- KEYS   settings hash · totals hash
-- ARGV   -
-- REPLY  {now ms, waiting, blocked, delayed, reserved, dead, ended, overdue, soonest deadline ms (-1 = none),
-- REPLY  enqueued at ms of the oldest of those first in line, one a priority (-1 = none), {settings …}, {totals …}}
local SPAN = $SPAN
local oldest, from = -1, 0

while true do
  local first = redis.call('ZRANGEBYSCORE', inbound, string.format('%.0f', from), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  if #first == 0 then break end
  local raw = redis.call('HGET', jobs, id_of(first[1]))
  local at = raw and ms_of(read_header(raw).stamp) or now
  if oldest < 0 or at < oldest then oldest = at end
  from = (math.floor(tonumber(first[2]) / SPAN) + 1) * SPAN
end

local function count(key)
  return redis.call('ZCARD', key)
end
return {
  now, count(inbound), count(parked), count(delayed), count(reserved), count(dead), count(ended),
  redis.call('ZCOUNT', reserved, '-inf', now), tonumber(redis.call('ZRANGE', reserved, 0, 0, 'WITHSCORES')[2] or -1),
  oldest, redis.call('HGETALL', settings), redis.call('HGETALL', totals),
}
