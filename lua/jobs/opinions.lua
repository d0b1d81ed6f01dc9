-- opinions: whether the jobs that remain of a batch with an overlap can all be completed, each by another worker, after an operator has
-- changed who may have one of them.
local record = require 'base/record'
local text = require 'base/text'
local batch = require 'base/batch'
local loaded = require 'jobs/loaded'
local route = require 'jobs/route'
local routing = require 'jobs/routing'
local part = require 'jobs/part'
local skip = require 'jobs/skip'
local opinions = {}
-- Who holds a job may give it back, and a dead one may be requeued.
local REMAINS = {
  [record.WAITING] = true, [record.BLOCKED] = true, [record.DELAYED] = true, [record.RESERVED] = true, [record.DEAD] = true,
}

local function members(id, own)
  local code, ids = batch.of(id), {}
  for i = 1, own.overlap:byte() do ids[i] = batch.member(code, i - 1) end
  return ids
end

-- Whether a job stays with its assignees: any other worker can complete it never, or only late.
local function is_bound(own)
  return own.assignees and not own.fallback
end

-- Reads the batches of many jobs at once; the routes of these jobs have been read.
function opinions.prefetch(q, ids)
  local unread = {}
  q.opinions = q.opinions or {}
  for _, id in ipairs(ids) do
    local own, code = q.route and q.route.known[id], batch.of(id)
    if own and own.overlap and not q.opinions[code] then
      q.opinions[code] = true
      for _, member in ipairs(members(id, own)) do unread[#unread + 1] = member end
    end
  end
  if #unread == 0 then return end
  loaded.read(q, unread)
  route.read(q, unread)
  part.prefetch(q, unread)
end

-- Those who can complete a job. `is_asked`: the change is of this job, and names the workers in `named`.
local function workers_of(q, id, own, named, is_asked)
  local r, found = q.loaded[id].record, {}
  for _, worker in ipairs(text.names(own.assignees)) do
    local has_skipped = skip.has(r, worker) and not (is_asked and named[worker])
    if not has_skipped and not routing.excludes(own, worker) and part.lets_have(q, id, worker, named[worker]) then
      found[#found + 1] = worker
    end
  end
  return found
end

-- Gives a job one of its workers, whose other job gets another one of its own then. Returns whether there is one.
local function assign(jobs, i, given, tried)
  for _, worker in ipairs(jobs[i]) do
    if not tried[worker] then
      tried[worker] = true
      if not given[worker] or assign(jobs, given[worker], given, tried) then
        given[worker] = i
        return true
      end
    end
  end
  return false
end

-- How many jobs of the batch get no worker of their own if this job has that route.
local function unanswered(q, id, own, named)
  local jobs, given, left = {}, {}, 0
  for _, member in ipairs(members(id, own)) do
    local job, is_asked = q.loaded[member], member == id
    local rule = is_asked and own or job and route.of(q, member, job.header)
    local remains = job and (is_asked or REMAINS[job.record.state] and not route.is_over_in(q, member, job.header, job.record.state))
    if remains and rule and is_bound(rule) then jobs[#jobs + 1] = workers_of(q, member, rule, named, is_asked) end
  end
  for i in ipairs(jobs) do
    if not assign(jobs, i, given, {}) then left = left + 1 end
  end
  return left
end

-- Whether a job may get this route by a call that names these workers. In a batch that lacks workers already, the change must help.
function opinions.allow(q, id, header, own, names)
  if not own.overlap or not is_bound(own) then return true end
  opinions.prefetch(q, {id})
  local named = {}
  for _, name in ipairs(names) do named[name] = true end
  local left = unanswered(q, id, own, named)
  return left == 0 or left < unanswered(q, id, route.of(q, id, header), {})
end

return opinions
