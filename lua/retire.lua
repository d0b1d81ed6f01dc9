-- retire: a queue without jobs and settings is let go, with its totals and events.
-- FLAGS  allow-oom
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · turns hash ·
-- KEYS   jobs hash · batches hash · tops hash · settings hash · totals hash · events stream
-- ARGV   -
-- REPLY  {'retired'} | {'kept'}
for _, key in ipairs({inbound, reserved, delayed, dead, ended, parked, jobs, settings, batches}) do
  if redis.call('EXISTS', key) == 1 then return {'kept'} end
end

redis.call('UNLINK', totals, events, tops, turns)
return {'retired'}
