-- search: which of a set's jobs an operator means; steps through the set go on behind the last one that stays in it.
-- USES   write record place batch
-- KEYS   parked zset

-- Behind a member that was looked at before. Its score says where, if it is gone meanwhile: of those with that very score
-- some are then looked at again.
local function rank_behind(set, score, member)
  if score == '' then return 0 end
  if set == parked then return redis.call('ZLEXCOUNT', set, '-', '[' .. member) end
  local rank = tonumber(redis.call('ZSCORE', set, member)) == tonumber(score) and redis.call('ZRANK', set, member)
  return rank and rank + 1 or redis.call('ZCOUNT', set, '-inf', '(' .. score)
end

-- One of the errors that are kept with a job contains the text.
local function has_error(r, text)
  local at = 1
  while at <= #r.errors do
    local _, _, said, stop = struct.unpack('>I6Bc0I2c0', r.errors, at)
    if said:find(text, 1, true) then return true end
    at = stop
  end
  return false
end

-- '' is any.
local function is_meant(id, header, r, client, batch, text)
  if client ~= '' and header.client ~= client then return false end
  if batch ~= '' and not (is_member(header) and batch_of(id) == batch) then return false end
  return text == '' or has_error(r, text)
end
