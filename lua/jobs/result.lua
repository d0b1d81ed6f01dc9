-- result: the fields of `results`, with the changes of this call: the result of a job, those that came too late, and one that its
-- worker may still take back.
local write = require 'base/write'
local result = {}
-- Reading one counts as two commands, because it may be large.
local BODY = 2

local function changed(q)
  q.new_results = q.new_results or {}
  return q.new_results
end

-- False or nil for none.
function result.of(q, field)
  local new = changed(q)[field]
  if new ~= nil then return new end
  write.spend(q, BODY)
  return redis.call('HGET', q.results, field)
end

-- An empty one is not stored.
function result.set(q, field, value)
  changed(q)[field] = value ~= '' and value
  if value ~= '' then write.set(q, 'results', field, value) end
end

function result.drop(q, field)
  changed(q)[field] = false
  write.delete(q, 'results', field)
end

return result
