-- contents: the payloads and results of jobs, as many as fit into the answer; those of one job that are too long together stay
-- where they are.   reads only
-- FLAGS  no-writes
-- KEYS   jobs hash · payloads hash · live hash · results hash
-- ARGV   bytes of one job, bytes of the answer, id …
-- REPLY  {record, payload ('' = in the record), result ('' = none)} | {}: no such job, or too long; of the first ids
local record = require 'base/record'

return function(q, args)
  local max_size, room, ids = tonumber(args[1]), tonumber(args[2]), {unpack(args, 3)}
  local raws, lives, reply = redis.call('HMGET', q.jobs, unpack(ids)), redis.call('HMGET', q.live, unpack(ids)), {}
  for i, id in ipairs(ids) do
    local header = raws[i] and record.header(raws[i])
    local is_job = header and not record.is_alias(header)
    local is_apart = is_job and record.is_external(header)
    local is_completed = is_job and lives[i] and record.live(lives[i]).state == record.COMPLETED
    local size = is_apart and redis.call('HSTRLEN', q.payloads, id) or 0
    if is_completed then size = size + redis.call('HSTRLEN', q.results, id) end
    local is_shown = is_job and size <= max_size
    if is_shown and i > 1 and size > room then break end
    if is_shown then
      room = room - size
      local payload = is_apart and redis.call('HGET', q.payloads, id) or ''
      reply[i] = {raws[i], payload, is_completed and redis.call('HGET', q.results, id) or ''}
    else
      reply[i] = {}
    end
  end
  return reply
end
