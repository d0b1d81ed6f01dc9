-- retire: deletes a queue without jobs and batches, with all that it has.
-- FLAGS  allow-oom
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · held zset ·
-- KEYS   restricted zset · lines zset · turns hash · jobs hash · payloads hash · live hash · results hash ·
-- KEYS   drafts hash · dedupe hash · gates hash · batches hash · timers zset · routes hash · alarms zset ·
-- KEYS   tops hash · settings hash · form hash · totals hash · history hash · events stream · cursors hash ·
-- KEYS   deliveries zset · bodies hash · actions hash · sheets hash · erasures hash
-- ARGV   'unused': not a queue with settings or deliveries either | 'forgotten': not one of which a webhook still gets something
-- REPLY  {'retired', whether it had anything (0 | 1)} | {'kept', 'jobs' | 'batches' | 'settings' | 'deliveries'}
local outbox = require 'base/outbox'
local delivery = require 'base/delivery'
local call = redis.call

-- Whether a webhook has deliveries to send, or events to read. What has failed for good goes with the queue.
local function is_owed(q)
  local last = call('XREVRANGE', q.events, '+', '-', 'COUNT', '1')[1]
  local all_read = last and last[1] .. '-$WHOLE_ENTRY'
  for _, reader in ipairs(outbox.webhooks(q)) do
    local is_behind = last and reader.position ~= all_read and not outbox.is_behind(all_read, reader.position)
    if is_behind or delivery.count(q, delivery.waiting, reader) > 0 then return true end
  end
  return false
end

-- What keeps the queue; nil for nothing.
local function reason(q, is_forgotten)
  if call('EXISTS', q.jobs) == 1 then return 'jobs' end
  if call('EXISTS', q.batches) == 1 then return 'batches' end
  if is_forgotten then return is_owed(q) and 'deliveries' or nil end
  if call('EXISTS', q.settings) == 1 then return 'settings' end
  return call('EXISTS', q.deliveries) == 1 and 'deliveries' or nil
end

return function(q, args)
  local why = reason(q, args[1] == 'forgotten')
  if why then return {'kept', why} end

  local count = call(
    'UNLINK', q.inbound, q.reserved, q.delayed, q.dead, q.ended, q.parked, q.held, q.restricted, q.lines, q.turns, q.jobs,
    q.payloads, q.live, q.results, q.drafts, q.dedupe, q.gates, q.batches, q.timers, q.routes, q.alarms, q.tops, q.settings, q.form, q.totals,
    q.history, q.events, q.cursors, q.deliveries, q.bodies, q.actions, q.sheets, q.erasures
  )
  return {'retired', count > 0 and 1 or 0}
end
