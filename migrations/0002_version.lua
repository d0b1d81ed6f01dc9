#!lua flags=allow-oom
-- 0002: the layout that an empty Redis begins with. There is nothing to move: it writes the version, and so ends each later step.
-- KEYS   layout string
-- ARGV   version that the step makes
if tonumber(redis.call('GET', KEYS[1]) or 0) < tonumber(ARGV[1]) then redis.call('SET', KEYS[1], ARGV[1]) end
return 'OK'
