-- search: which of a set's jobs an operator means; steps through the set go on behind the last one that stays in it.
local record = require 'base/record'
local clock = require 'base/clock'
local batch = require 'base/batch'
local place = require 'jobs/place'
local search = {}
local STEP = 200

-- Four arguments, of which each may be empty: client, batch, what an error contains, enqueued before (ms).
function search.meant(args, at)
  local before = tonumber(args[at + 3] or '')
  return {
    client = args[at] or '', batch = args[at + 1] or '', error = args[at + 2] or '',
    before = before and before * clock.PER_MS,
  }
end

-- Behind a member that was looked at before. Its score says where, if it is gone meanwhile: of those with that very score
-- some are then looked at again.
function search.rank_behind(q, set, score, member)
  if score == '' then return 0 end
  if set == q.parked then return redis.call('ZLEXCOUNT', set, '-', '[' .. member) end
  local rank = tonumber(redis.call('ZSCORE', set, member)) == tonumber(score) and redis.call('ZRANK', set, member)
  return rank and rank + 1 or redis.call('ZCOUNT', set, '-inf', '(' .. score)
end

-- A waiting job without a live record has its place in the set.
local function record_of(q, set, live, header, score)
  if live then return record.live(live) end
  if record.is_alias(header) then return end
  local at = set == q.inbound and tonumber(score) or -1
  return record.new(record.WAITING, at, header.priority, header.stamp)
end

-- The next entries of a step's set, {member, score, job or false} each; their jobs, {id, header, record or nil} each or
-- false; and whether there may be more.
function search.read(q, set, step)
  local from = search.rank_behind(q, set, step.score, step.member)
  local entries = redis.call('ZRANGE', set, from, from + STEP - 1, 'WITHSCORES')
  local ids, found, those = {}, {}, {}
  for i = 1, #entries, 2 do ids[#ids + 1] = place.id_of(entries[i]) end
  if #ids == 0 then return found, those, false end
  local lives, headers = redis.call('HMGET', q.live, unpack(ids)), redis.call('HMGET', q.jobs, unpack(ids))
  for i, id in ipairs(ids) do
    local header, score = headers[i] and record.header(headers[i]), entries[i * 2]
    those[i] = header and {id = id, header = header, record = record_of(q, set, lives[i], header, score)}
    found[i] = {member = entries[i * 2 - 1], score = score, job = those[i]}
  end
  return found, those, #ids >= STEP
end

-- One of the errors that are kept with a job contains the text.
function search.has_error(r, wanted)
  local at = 1
  while at <= #r.errors do
    local _, _, said, stop = struct.unpack('>I6Bc0I2c0', r.errors, at)
    if said:find(wanted, 1, true) then return true end
    at = stop
  end
  return false
end

-- `meant`: {client, batch, error, before (a stamp)}; '' and nil are any.
function search.is_meant(id, header, r, meant)
  if meant.client ~= '' and header.client ~= meant.client then return false end
  if meant.batch ~= '' and not (record.is_member(header) and batch.of(id) == meant.batch) then return false end
  if meant.before and header.stamp >= meant.before then return false end
  return meant.error == '' or search.has_error(r, meant.error)
end

return search
