-- repeats: whether another call has used an idempotency key: the ids that it gives to the jobs of this one.   reads only
-- FLAGS  no-writes
-- KEYS   jobs hash
-- ARGV   fingerprint (8 bytes) of this call, ids …
-- REPLY  {'own'}: no call has, or this very call | {'reused'}
local record = require 'base/record'

return function(q, args)
  for _, raw in ipairs(redis.call('HMGET', q.jobs, unpack(args, 2))) do
    if raw and record.header(raw).fingerprint ~= args[1] then return {'reused'} end
  end
  return {'own'}
end
