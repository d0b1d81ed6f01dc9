#!lua flags=allow-oom
-- reopen: a queue is what it was before this run closed it.
-- KEYS   all keys of a queue, then the names that they got
-- ARGV   run
-- REPLY  'open' | 'taken'
local n, begin = #KEYS / 2, 'closed ' .. ARGV[1] .. ' '
local ours, others = {}, false
for i = 1, n do
  local text = redis.call('TYPE', KEYS[i]).ok == 'string' and redis.call('GET', KEYS[i]) or ''
  ours[i] = text:sub(1, #begin) == begin
  others = others or not ours[i] and text:match('^closed ')
end
if others then return 'taken' end
for i = 1, n do
  if ours[i] then
    redis.call('DEL', KEYS[i])
    if redis.call('EXISTS', KEYS[n + i]) == 1 then redis.call('RENAME', KEYS[n + i], KEYS[i]) end
  end
end
return 'open'
