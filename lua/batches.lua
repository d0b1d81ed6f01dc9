-- batches: the batches of a queue, a page at a time: those first that time will move first.   reads only
-- FLAGS  no-writes
-- USES   clock record event batch
-- KEYS   timers zset
-- ARGV   limit, score and batch of the last one seen ('' = from the start)
-- REPLY  {next score ('' = the end), next batch, {batch, record} …}
local limit, after_score, after = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local from = 0

-- The one seen last may have moved; then its score says where to go on.
if after_score ~= '' then
  local rank = redis.call('ZSCORE', timers, after) == after_score and redis.call('ZRANK', timers, after)
  from = rank and rank + 1 or redis.call('ZCOUNT', timers, '-inf', '(' .. after_score)
end

local entries = redis.call('ZRANGE', timers, from, from + limit - 1, 'WITHSCORES')
local page = {'', ''}
if #entries == limit * 2 then page = {entries[#entries], entries[#entries - 1]} end
for i = 1, #entries, 2 do
  local b = read_batch(entries[i])
  if b and b.stage ~= MAKING and b.stage ~= REMOVING then page[#page + 1] = {entries[i], pack_batch(b)} end
end
return page
