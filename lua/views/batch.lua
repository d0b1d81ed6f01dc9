-- batch: one batch.   reads only
-- FLAGS  no-writes
-- KEYS   gates hash · batches hash · timers zset · events stream
-- ARGV   batch
-- REPLY  {'batch', record} | {'unknown'}
local batch = require 'base/batch'

return function(q, args)
  local b = batch.read(q, args[1])
  if not batch.is_seen(b) then return {'unknown'} end
  return {'batch', batch.pack(b)}
end
