-- opinions: the batches of a queue with what was asked and answered in those with an overlap, a part of a page at a time: earliest timer
--           first.   reads only
-- FLAGS  no-writes
-- KEYS   jobs hash · payloads hash · live hash · results hash · gates hash · batches hash · timers zset · routes hash · events stream
-- ARGV   limit, only batches with an overlap (0 | 1), of how many jobs at least must be completed, score and batch of the last one seen ('' =
-- ARGV   from the start), bytes of payloads and results that the page has read already
-- REPLY  {score and batch of the last that was looked at ('' = the end), bytes of the page, full (0 | 1), as jobs/answers shows them …}
local record = require 'base/record'
local write = require 'base/write'
local batch = require 'base/batch'
local page = require 'jobs/page'
local answers = require 'jobs/answers'
local LOOK, BODIES, BYTES = $PAGE_ENTRIES, write.BODIES, $RESERVE_BYTES

-- The next batches, {code, score, batch or false} each, and whether there may be more.
local function read(q, score, code)
  local found, codes = {}, {}
  local from = page.rank_after(q.timers, score, code)
  local entries = redis.call('ZRANGE', q.timers, from, from + LOOK - 1, 'WITHSCORES')
  for i = 1, #entries, 2 do codes[#codes + 1] = entries[i] end
  if #codes == 0 then return found, false end
  batch.prefetch(q, codes)
  for i, one in ipairs(codes) do
    local b = batch.read(q, one)
    found[i] = {code = one, score = entries[i * 2], batch = batch.is_seen(b) and b}
  end
  answers.prefetch(q, codes)
  return found, #codes >= LOOK
end

-- Whether it is one that is asked for.
local function is_asked(q, list, one)
  local b = one.batch
  if not b or b.counts[record.COMPLETED] < list.completed then return false end
  return not list.is_only_shared or answers.is_shared(q, one.code)
end

-- Adds a batch; false if the page or the budget is full.
local function put(q, list, one)
  local is_shared = answers.is_shared(q, one.code)
  local bodies = is_shared and answers.bodies_of(one.batch) or 0
  list.full = list.bytes >= BYTES or #list.shown >= list.limit
  if list.full or write.is_spent(q) or list.bodies + bodies > BODIES then return false end
  local shown, weight = answers.show(q, one.code, one.batch)
  list.bodies, list.bytes = list.bodies + bodies, list.bytes + weight
  list.shown[#list.shown + 1] = shown
  return true
end

return function(q, args)
  local list = {
    limit = tonumber(args[1]), is_only_shared = args[2] == '1', completed = tonumber(args[3]), bytes = tonumber(args[6]), bodies = 0,
    full = false, shown = {},
  }
  local found, is_more = read(q, args[4], args[5])
  local score, code = args[4], args[5]
  for _, one in ipairs(found) do
    if is_asked(q, list, one) and not put(q, list, one) then
      is_more = true
      break
    end
    score, code = one.score, one.code
  end
  if not is_more then score, code = '', '' end
  return {score, code, list.bytes, list.full and 1 or 0, unpack(list.shown)}
end
