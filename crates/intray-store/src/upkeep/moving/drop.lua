#!lua flags=allow-oom
-- drop: at the target, what was brought of a queue goes.
-- KEYS   mark string, all keys as they were brought
-- ARGV   epoch of the source
-- REPLY  'dropped'
local mark = redis.call('GET', KEYS[1])
if mark and mark:match('^%S+') == ARGV[1] then redis.call('UNLINK', unpack(KEYS)) end
return 'dropped'
