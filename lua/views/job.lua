-- job: everything about one job.   reads only
-- FLAGS  no-writes
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · restricted zset · jobs hash ·
-- KEYS   payloads hash · live hash · results hash · routes hash
-- ARGV   id
-- REPLY  {id, record, payload, live record, result, score in its set, route, late results …} | {'unknown'}
local view = require 'jobs/view'

return function(q, args)
  return view.job(q, args[1]) or {'unknown'}
end
