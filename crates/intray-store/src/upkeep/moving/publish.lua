#!lua flags=allow-oom
-- publish: at the target, what was brought becomes the queue, all at once.
-- KEYS   mark string, all keys as they were brought, then as they are called
-- ARGV   epoch of the source and run
-- REPLY  'published' | 'taken' | 'there'
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 'taken' end
local n = (#KEYS - 1) / 2
for i = 1, n do
  if redis.call('EXISTS', KEYS[1 + n + i]) == 1 then return 'there' end
end
for i = 1, n do
  if redis.call('EXISTS', KEYS[1 + i]) == 1 then redis.call('RENAME', KEYS[1 + i], KEYS[1 + n + i]) end
end
redis.call('DEL', KEYS[1])
return 'published'
