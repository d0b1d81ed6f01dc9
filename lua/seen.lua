-- seen: a queue is in use. The registry knows it before its first key is written.
-- FLAGS  allow-oom
-- USES   clock
-- KEYS   registry zset
-- ARGV   how many queues there may be (0 = however many), names
-- REPLY  {'seen'} | {'many'}: one would be new, and there are as many as may be
local most, new = tonumber(ARGV[1]), 0
for i = 2, #ARGV do
  if most > 0 and not redis.call('ZSCORE', registry, ARGV[i]) then new = new + 1 end
end
if new > 0 and redis.call('ZCARD', registry) + new > most then return {'many'} end

local told = {'ZADD', registry}
for i = 2, #ARGV do told[#told + 1], told[#told + 2] = now, ARGV[i] end
redis.call(unpack(told))
return {'seen'}
