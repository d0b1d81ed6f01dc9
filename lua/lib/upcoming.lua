-- upcoming: when time next brings something about in a queue.
-- USES   clock batch
-- KEYS   reserved zset · delayed zset · ended zset · timers zset
local YOUNG = 10000

-- In ms, 0 for what is overdue, -1 for never as things are. More than may be kept go as soon as they are not young.
local function next_ms(retention, most_kept)
  local soonest, kept_for = math.huge, retention
  if redis.call('ZCARD', ended) > most_kept then kept_for = math.min(retention, YOUNG) end
  for _, key in ipairs({reserved, delayed, ended, timers}) do
    local first = tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2])
    if first and key == ended then first = ms_of(first) + kept_for end
    -- Batches that are over stand before those whose timer runs.
    if first and key == timers then
      local runs = first < 0 and redis.call('ZRANGEBYSCORE', timers, 0, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
      first = first < 0 and math.min(first + OVER + retention, tonumber(runs or math.huge)) or first
    end
    soonest = math.min(soonest, first or math.huge)
  end
  return soonest < math.huge and math.max(soonest - now, 0) or -1
end
