-- stage: continues a long operation on a batch by one bounded step.   making -> gone, opening -> open | sealed, called off
-- FLAGS  allow-oom
-- KEYS   inbound zset · delayed zset · dead zset · ended zset · parked zset · restricted zset · lines zset ·
-- KEYS   turns hash · jobs hash · payloads hash · live hash · results hash · drafts hash · dedupe hash ·
-- KEYS   gates hash · batches hash · timers zset · routes hash · alarms zset · tops hash · settings hash ·
-- KEYS   totals hash · events stream · hints channel
-- ARGV   batch, 'on' | 'give up' (a creation that cannot be finished)
-- REPLY  {'more'} | {'done'} | {'unknown'}
local commit = require 'base/commit'
local batch = require 'base/batch'
local stage = require 'batches/stage'

return function(q, args)
  local code = args[1]
  local b = batch.read(q, code)
  if not b then return {'unknown'} end
  if args[2] == 'give up' and b.stage == batch.MAKING then b.stage, b.cursor = batch.REMOVING, 0 end
  stage.step(q, code, b, false)
  return commit(q, function()
    local more = stage.is_unfinished(b) and redis.call('HEXISTS', q.batches, code) == 1
    return more and {'more'} or {'done'}
  end)
end
