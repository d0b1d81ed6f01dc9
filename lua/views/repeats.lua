-- repeats: whether another call has used an idempotency key: the ids that it gives to the jobs or the batches of this one.   reads only
-- FLAGS  no-writes
-- KEYS   jobs hash · gates hash · batches hash · timers zset · events stream
-- ARGV   fingerprint (8 bytes) of this call, 'jobs' | 'batches', ids …
-- REPLY  {'own'}: no call has, or this very call | {'reused'}
local record = require 'base/record'
local batch = require 'base/batch'

return function(q, args)
  local are_jobs = args[2] == 'jobs'
  local read = are_jobs and record.header or batch.unpack
  for _, raw in ipairs(redis.call('HMGET', are_jobs and q.jobs or q.batches, unpack(args, 3))) do
    if raw and read(raw).fingerprint ~= args[1] then return {'reused'} end
  end
  return {'own'}
end
