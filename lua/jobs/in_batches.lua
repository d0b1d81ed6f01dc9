-- in_batches: walks the jobs of all batches, which no set of ended jobs has: the batch with the latest timer first, in a batch by index. A
-- batch that ends meanwhile moves to where the walk has yet to come, so its jobs may come twice and none is left out.
-- A place is the score of the batch's timer, and MARK with the id of a job; the batch's own code stands before its first job.
local batch = require 'base/batch'
local page = require 'jobs/page'
local place = require 'jobs/place'
local in_batches = {}
local MARK, DIGITS = '#', '$DIGITS'
-- The score of a batch without a timer, as a number that a cursor may hold.
local ENDLESS = '1e300'
-- The place before all.
in_batches.SCORE, in_batches.MEMBER = ENDLESS, MARK .. '7' .. ('Z'):rep($ID_LEN - 1)

function in_batches.is_place(member)
  return member:sub(1, 1) == MARK
end

-- The index of a job in its batch; -1 for the batch's own code.
local function index_of(id)
  local n = 0
  for at = $STEM_LEN + 1, #id do n = n * 32 + DIGITS:find(id:sub(at, at), 1, true) - 1 end
  return n - 1
end

-- The batches from a place on with the scores of their timers, flat, and their codes; read from Redis.
local function batches_from(q, score, code, limit)
  local rank = redis.call('ZCARD', q.timers) - page.rank_after(q.timers, score, code)
  local timers, codes = redis.call('ZRANGE', q.timers, rank, rank + limit - 1, 'REV', 'WITHSCORES'), {}
  for i = 1, #timers, 2 do codes[#codes + 1] = timers[i] end
  if #codes > 0 then batch.prefetch(q, codes) end
  return timers, codes
end

-- At most `limit` places after one, flat as `ZRANGE … WITHSCORES`, and whether there are no more. A batch without jobs has a place, so
-- that the walk can continue after it.
function in_batches.read(q, score, member, limit)
  local after, entries = place.id_of(member), {}
  local code, index = batch.of(after), index_of(after) + 1
  local timers, codes = batches_from(q, score == ENDLESS and 'inf' or score, code, limit)
  for n, of in ipairs(codes) do
    local b, at = batch.read(q, of), timers[n * 2]
    local total = batch.is_seen(b) and b.total or 0
    if at == 'inf' then at = ENDLESS end
    if of ~= code and total == 0 then entries[#entries + 1], entries[#entries + 2] = MARK .. of, at end
    for i = of == code and index or 0, total - 1 do
      if #entries >= limit * 2 then return entries, false end
      entries[#entries + 1], entries[#entries + 2] = MARK .. batch.member(of, i), at
    end
  end
  return entries, #codes < limit
end

return in_batches
