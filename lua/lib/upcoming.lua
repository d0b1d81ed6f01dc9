-- upcoming: when time next brings something about in a queue.
-- USES   clock
-- KEYS   reserved zset · delayed zset · ended zset · timers zset
local YOUNG = 10000

-- In ms, 0 for what is overdue, -1 for never as things are. More than may be kept go as soon as they are not young.
local function next_ms(retention, most_kept)
  if redis.call('ZCARD', ended) > most_kept then retention = math.min(retention, YOUNG) end
  local soonest = math.huge
  for _, key in ipairs({reserved, delayed, timers, ended}) do
    local first = tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2])
    if first then soonest = math.min(soonest, key == ended and ms_of(first) + retention or first) end
  end
  return soonest < math.huge and math.max(soonest - now, 0) or -1
end
