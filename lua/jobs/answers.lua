-- answers: a batch as it is shown with what was asked, if it has an overlap, and what was answered so far.
local record = require 'base/record'
local write = require 'base/write'
local batch = require 'base/batch'
local route = require 'jobs/route'
local answers = {}

-- Reads at once whether these batches have an overlap. Each job of such a batch says so, and keeps that until it is forgotten.
function answers.prefetch(q, codes)
  local firsts = {}
  for i, code in ipairs(codes) do firsts[i] = batch.member(code, 0) end
  route.read(q, firsts)
end

function answers.is_shared(q, code)
  local own = q.route.known[batch.member(code, 0)]
  return own and own.overlap ~= nil
end

-- How many payloads and results it takes to show a batch with an overlap, at most.
function answers.bodies_of(b)
  return 1 + b.counts[record.COMPLETED]
end

-- The results of those that are completed, by id.
local function results_of(q, ids, lives)
  local completed, found = {}, {}
  for i, id in ipairs(ids) do
    if lives[i] and record.live(lives[i]).state == record.COMPLETED then completed[#completed + 1] = id end
  end
  if #completed == 0 then return found end
  for i, result in ipairs(write.ask(q, 'HMGET', q.results, unpack(completed))) do found[completed[i]] = result or '' end
  return found
end

-- {batch, record}, and if it has an overlap: the record of its first job, the payload if that is apart, and of each job {live record, result};
-- '' where there is none. Returns how many bytes of payloads and results that is, too.
function answers.show(q, code, b)
  local shown = {code, batch.pack(b)}
  if not answers.is_shared(q, code) then return shown, 0 end
  local ids = {}
  for index = 0, b.total - 1 do ids[#ids + 1] = batch.member(code, index) end
  local raw = write.ask(q, 'HGET', q.jobs, ids[1]) or ''
  local is_apart = raw ~= '' and record.is_external(record.header(raw))
  shown[3], shown[4] = raw, is_apart and write.ask(q, 'HGET', q.payloads, ids[1]) or ''
  local lives, weight = write.ask(q, 'HMGET', q.live, unpack(ids)), #raw + #shown[4]
  local results = results_of(q, ids, lives)
  for i, id in ipairs(ids) do
    local live, result = lives[i] or '', results[id] or ''
    weight = weight + #live + #result
    shown[#shown + 1] = {live, result}
  end
  return shown, weight
end

return answers
