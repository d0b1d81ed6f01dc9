#!lua flags=allow-oom
-- 0001: the first layout. There is nothing to move; from here on the version says which layout the keys have.
-- KEYS   layout string
-- ARGV   version that this step makes
if tonumber(redis.call('GET', KEYS[1]) or 0) < tonumber(ARGV[1]) then redis.call('SET', KEYS[1], ARGV[1]) end
return 'OK'
