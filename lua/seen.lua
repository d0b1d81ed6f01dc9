-- seen: a queue is in use. The registry knows it before its first key is written.
-- FLAGS  allow-oom
-- USES   clock
-- KEYS   registry zset
-- ARGV   names
-- REPLY  {'seen'}
for _, name in ipairs(ARGV) do redis.call('ZADD', registry, now, name) end
return {'seen'}
