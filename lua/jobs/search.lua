-- search: which of a set's jobs an operator means; steps through the set go on behind the last one that stays in it.
local record = require 'base/record'
local batch = require 'base/batch'
local search = {}

-- Behind a member that was looked at before. Its score says where, if it is gone meanwhile: of those with that very score
-- some are then looked at again.
function search.rank_behind(q, set, score, member)
  if score == '' then return 0 end
  if set == q.parked then return redis.call('ZLEXCOUNT', set, '-', '[' .. member) end
  local rank = tonumber(redis.call('ZSCORE', set, member)) == tonumber(score) and redis.call('ZRANK', set, member)
  return rank and rank + 1 or redis.call('ZCOUNT', set, '-inf', '(' .. score)
end

-- One of the errors that are kept with a job contains the text.
local function has_error(r, wanted)
  local at = 1
  while at <= #r.errors do
    local _, _, said, stop = struct.unpack('>I6Bc0I2c0', r.errors, at)
    if said:find(wanted, 1, true) then return true end
    at = stop
  end
  return false
end

-- `meant`: {client, batch, error}; '' is any.
function search.is_meant(id, header, r, meant)
  if meant.client ~= '' and header.client ~= meant.client then return false end
  if meant.batch ~= '' and not (record.is_member(header) and batch.of(id) == meant.batch) then return false end
  return meant.error == '' or has_error(r, meant.error)
end

return search
