-- answers: one batch, with what was asked and answered if it has an overlap.   reads only
-- FLAGS  no-writes
-- KEYS   jobs hash · payloads hash · live hash · results hash · gates hash · batches hash · timers zset · routes hash · events stream
-- ARGV   batch
-- REPLY  {'batch', as jobs/answers shows it} | {'unknown'}
local batch = require 'base/batch'
local answers = require 'jobs/answers'

return function(q, args)
  local code = args[1]
  local b = batch.read(q, code)
  if not batch.is_seen(b) then return {'unknown'} end
  answers.prefetch(q, {code})
  return {'batch', (answers.show(q, code, b))}
end
