-- withdraw: a producer or operator cancels a batch. Steps of `stage` cancel its jobs.   open | sealed -> called off
-- FLAGS  allow-oom
-- KEYS   gates hash · batches hash · timers zset · totals hash · events stream · actions hash · hints channel
-- ARGV   batch, note for the list of actions ('' = a producer's call)
-- REPLY  {'withdrawn', record} | {'over', record}: completed or failed before | {'unknown'}
local action = require 'base/action'
local clock = require 'base/clock'
local commit = require 'base/commit'
local batch = require 'base/batch'

return function(q, args)
  local code = args[1]
  local b = batch.read(q, code)
  if not batch.is_seen(b) then return {'unknown'} end
  if b.stage == batch.ALL_DONE or b.stage == batch.SOME_DEAD then return {'over', batch.pack(b)} end
  if b.stage ~= batch.WITHDRAWN and not batch.is_marked(b, batch.TO_CANCEL) then
    if b.stage ~= batch.SEALED then batch.seal(q, code, b) end
    b.marks, b.cursor = b.marks + batch.TO_CANCEL, 0
    batch.set_timer(q, code, clock.now(q))
    batch.changed(q, code, b)
    action.add(q, args[2], 1)
  end
  return commit(q, function() return {'withdrawn', batch.pack(b)} end)
end
