-- batches: the batches of a queue, a page at a time: earliest timer first.   reads only
-- FLAGS  no-writes
-- KEYS   gates hash · batches hash · timers zset · events stream
-- ARGV   limit, score and batch of the last one seen ('' = from the start)
-- REPLY  {next score ('' = the end), next batch, {batch, record} …}
local batch = require 'base/batch'
local page = require 'jobs/page'

return function(q, args)
  local limit = tonumber(args[1])
  local from = page.rank_after(q.timers, args[2], args[3])
  local entries = redis.call('ZRANGE', q.timers, from, from + limit - 1, 'WITHSCORES')
  local answer = {'', ''}
  if #entries == limit * 2 then answer = {entries[#entries], entries[#entries - 1]} end
  local codes = {}
  for i = 1, #entries, 2 do codes[#codes + 1] = entries[i] end
  if #codes > 0 then batch.prefetch(q, codes) end
  for _, code in ipairs(codes) do
    local b = batch.read(q, code)
    if batch.is_seen(b) then answer[#answer + 1] = {code, batch.pack(b)} end
  end
  return answer
end
