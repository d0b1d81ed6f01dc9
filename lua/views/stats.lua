-- stats: counts, settings and totals of a queue.   reads only
-- FLAGS  no-writes
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · restricted zset ·
-- KEYS   jobs hash · settings hash · totals hash
-- ARGV   -
-- REPLY  {now ms, waiting, blocked, delayed, reserved, dead, ended, overdue, soonest deadline ms (-1 = none),
-- REPLY  enqueued at ms of the oldest of those first in line, one a priority (-1 = none), {settings …}, {totals …}}
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local place = require 'jobs/place'
local call, SPAN = redis.call, $SPAN

-- One look a priority, from the oldest that is known.
local function oldest_first(q, set, oldest)
  local from = 0
  while true do
    local first = call('ZRANGEBYSCORE', set, text.of(from), '+inf', 'WITHSCORES', 'LIMIT', '0', '1')
    if #first == 0 then return oldest end
    local raw = call('HGET', q.jobs, place.id_of(first[1]))
    local at = raw and clock.ms_of(record.header(raw).stamp) or clock.now(q)
    if oldest < 0 or at < oldest then oldest = at end
    from = (math.floor(tonumber(first[2]) / SPAN) + 1) * SPAN
  end
end

return function(q)
  local now = clock.now(q)
  return {
    now, call('ZCARD', q.inbound) + call('ZCARD', q.restricted), call('ZCARD', q.parked), call('ZCARD', q.delayed),
    call('ZCARD', q.reserved), call('ZCARD', q.dead), call('ZCARD', q.ended), call('ZCOUNT', q.reserved, '-inf', now),
    tonumber(call('ZRANGE', q.reserved, 0, 0, 'WITHSCORES')[2] or -1), oldest_first(q, q.restricted, oldest_first(q, q.inbound, -1)),
    call('HGETALL', q.settings), call('HGETALL', q.totals),
  }
end
