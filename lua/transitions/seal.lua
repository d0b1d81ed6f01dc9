-- seal: a producer closes a batch for further jobs.   open -> sealed | completed | failed
-- FLAGS  allow-oom
-- KEYS   gates hash · batches hash · timers zset · totals hash · events stream · hints channel
-- ARGV   batch
-- REPLY  {'sealed', record} | {'unknown'}
local commit = require 'base/commit'
local batch = require 'base/batch'

return function(q, args)
  local code = args[1]
  local b = batch.read(q, code)
  if not batch.is_seen(b) then return {'unknown'} end
  if b.stage == batch.OPENING and not batch.is_marked(b, batch.TO_SEAL) then
    b.marks = b.marks + batch.TO_SEAL
    batch.changed(q, code, b)
  elseif b.stage == batch.OPEN then
    batch.seal(q, code, b)
    batch.changed(q, code, b)
  end
  return commit(q, function() return {'sealed', batch.pack(b)} end)
end
