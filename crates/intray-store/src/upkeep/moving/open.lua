#!lua flags=allow-oom
-- open: the registry is what it was before a move that is called off.
-- KEYS   registry string
-- ARGV   run
-- REPLY  'opened' | 'taken'
if redis.call('TYPE', KEYS[1]).ok ~= 'string' then return 'opened' end
local text, begin = redis.call('GET', KEYS[1]), 'leaving ' .. ARGV[1] .. ' '
if text:sub(1, #begin) ~= begin then return 'taken' end
local listed = {}
for seen, name in text:gmatch('\n(%S+) ([^\n]*)') do listed[#listed + 1], listed[#listed + 2] = seen, name end
redis.call('DEL', KEYS[1])
for i = 1, #listed, 2000 do
  redis.call('ZADD', KEYS[1], unpack(listed, i, math.min(i + 1999, #listed)))
end
return 'opened'
