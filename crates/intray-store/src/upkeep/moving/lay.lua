-- lay: at the target, commands on a key that is not in use yet, if no later run has claimed the queue.
-- KEYS   mark string, key
-- ARGV   epoch of the source and run, then of each command: how many words, and these without the key
-- REPLY  'laid' | 'taken'
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 'taken' end
local i = 2
while i <= #ARGV do
  local n = tonumber(ARGV[i])
  redis.call(ARGV[i + 1], KEYS[2], unpack(ARGV, i + 2, i + n))
  i = i + n + 1
end
return 'laid'
