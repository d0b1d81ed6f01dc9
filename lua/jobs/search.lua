-- search: selects jobs of a set by a filter, step by step; a step continues after the last job that stays in the set.
local record = require 'base/record'
local clock = require 'base/clock'
local batch = require 'base/batch'
local place = require 'jobs/place'
local search = {}
local STEP = $STEP_JOBS

-- A filter of four arguments, each may be empty: client, batch, text of an error, enqueued before (ms).
function search.filter(args, at)
  local before = tonumber(args[at + 3] or '')
  return {
    client = args[at] or '', batch = args[at + 1] or '', error = args[at + 2] or '',
    before = before and before * clock.PER_MS,
  }
end

-- Waiting jobs stand in two sets, one after the other: a place in the second has a '+' before its score.
local IN_RESTRICTED = '+'
search.IN_RESTRICTED = IN_RESTRICTED
-- A member before every other.
search.FIRST = ('\0'):rep(6) .. ('0'):rep($ID_LEN)

-- The name of the set that a step over `key` is in, its score there, and the mark of its places.
local function set_of(key, score)
  if key == 'inbound' and score:sub(1, 1) == IN_RESTRICTED then return 'restricted', score:sub(2), IN_RESTRICTED end
  return key, score, ''
end

-- Moves a step that looks through waiting jobs from the end of the first set to the second. Returns whether there is one.
function search.next_set(q, step)
  if step.key ~= 'inbound' or step.set ~= 'inbound' or redis.call('EXISTS', q.restricted) == 0 then return false end
  step.score, step.member = IN_RESTRICTED .. '0', search.FIRST
  return true
end

-- The rank after a member seen before. If it is gone, its score decides, and some of that score are seen again.
function search.rank_after(q, set, score, member)
  if score == '' then return 0 end
  if set == q.parked then return redis.call('ZLEXCOUNT', set, '-', '[' .. member) end
  local rank = tonumber(redis.call('ZSCORE', set, member)) == tonumber(score) and redis.call('ZRANK', set, member)
  return rank and rank + 1 or redis.call('ZCOUNT', set, '-inf', '(' .. score)
end

-- The live record; for a waiting job without one, made from its score in the set.
local function record_of(set, live, header, score)
  if live then return record.live(live) end
  if record.is_alias(header) then return end
  local at = set == 'inbound' and tonumber(score) or -1
  return record.new(record.WAITING, at, header.priority, header.stamp)
end

-- The next entries of the set `step.key`, {member, score, job or false} each; their jobs, {id, header, record or nil} each or false;
-- and whether there may be more. `step.set` becomes the name of the set that they are in.
function search.read(q, sets, step)
  local score, mark
  step.set, score, mark = set_of(step.key, step.score)
  local set = sets[step.set]
  local from = search.rank_after(q, set, score, step.member)
  local entries = redis.call('ZRANGE', set, from, from + STEP - 1, 'WITHSCORES')
  local ids, found, jobs = {}, {}, {}
  for i = 1, #entries, 2 do ids[#ids + 1] = place.id_of(entries[i]) end
  if #ids == 0 then return found, jobs, false end
  local lives, headers = redis.call('HMGET', q.live, unpack(ids)), redis.call('HMGET', q.jobs, unpack(ids))
  for i, id in ipairs(ids) do
    local header, own = headers[i] and record.header(headers[i]), entries[i * 2]
    jobs[i] = header and {id = id, header = header, record = record_of(step.set, lives[i], header, own)}
    found[i] = {member = entries[i * 2 - 1], score = mark .. own, job = jobs[i]}
  end
  return found, jobs, #ids >= STEP
end

-- Does a kept error contain the text?
function search.has_error(r, wanted)
  local at = 1
  while at <= #r.errors do
    local _, _, message, stop = struct.unpack('$ERROR_FORMAT', r.errors, at)
    if message:find(wanted, 1, true) then return true end
    at = stop
  end
  return false
end

-- `filter`: {client, batch, error, before (a stamp)}; '' and nil match any.
function search.matches(id, header, r, filter)
  if filter.client ~= '' and header.client ~= filter.client then return false end
  if filter.batch ~= '' and not (record.is_member(header) and batch.of(id) == filter.batch) then return false end
  if filter.before and header.stamp >= filter.before then return false end
  return filter.error == '' or search.has_error(r, filter.error)
end

return search
