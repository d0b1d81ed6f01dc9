-- repeats: whether another call has used an idempotency key: the ids that it gives to the jobs of this one.   reads only
-- FLAGS  no-writes
-- USES   record
-- KEYS   jobs hash
-- ARGV   fingerprint (8 bytes) of this call, ids …
-- REPLY  {'own'}: nobody has, or this very call | {'reused'}
local fingerprint = ARGV[1]

for _, raw in ipairs(redis.call('HMGET', jobs, unpack(ARGV, 2))) do
  if raw and read_header(raw).fingerprint ~= fingerprint then return {'reused'} end
end
return {'own'}
