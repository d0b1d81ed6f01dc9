-- seen: a queue is in use. The registry knows it before its first key is written.
-- FLAGS  allow-oom
-- USES   clock
-- KEYS   registry zset
-- ARGV   names
-- REPLY  {'seen'}
local SOME = 1000
for first = 1, #ARGV, SOME do
  local command = {'ZADD', registry}
  for at = first, math.min(first + SOME - 1, #ARGV) do
    command[#command + 1] = now
    command[#command + 1] = ARGV[at]
  end
  redis.call(unpack(command))
end
return {'seen'}
