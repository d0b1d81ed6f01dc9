-- retire: deletes a queue without jobs, settings and deliveries, with its totals, history, events and list of actions.
-- FLAGS  allow-oom
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · restricted zset ·
-- KEYS   turns hash · jobs hash · batches hash · tops hash · settings hash · totals hash · history hash ·
-- KEYS   events stream · cursors hash · deliveries zset · bodies hash · actions hash · sheets hash · form hash
-- ARGV   -
-- REPLY  {'retired'} | {'kept'}
return function(q)
  local holding = {q.inbound, q.restricted, q.reserved, q.delayed, q.dead, q.ended, q.parked, q.jobs, q.settings, q.batches, q.deliveries}
  for _, key in ipairs(holding) do
    if redis.call('EXISTS', key) == 1 then return {'kept'} end
  end

  redis.call('UNLINK', q.totals, q.history, q.events, q.tops, q.turns, q.cursors, q.bodies, q.actions, q.sheets, q.form)
  return {'retired'}
end
