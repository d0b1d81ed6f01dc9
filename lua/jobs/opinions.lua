-- opinions: whether the jobs that remain of a batch with an overlap can all be completed, each by another worker, after an operator has
-- changed who may have one of them, and whom an operator names for a job.
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local write = require 'base/write'
local hint = require 'base/hint'
local batch = require 'base/batch'
local loaded = require 'jobs/loaded'
local route = require 'jobs/route'
local routing = require 'jobs/routing'
local part = require 'jobs/part'
local skip = require 'jobs/skip'
local opinions = {}
local has = text.has
-- The holder of a job may give it back, and a dead one may be requeued.
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

-- Those who can complete a job. `is_asked`: the change is of this job. It names the workers in `named`.
local function workers_of(q, id, own, named, is_asked)
  local r, found = q.loaded[id].record, {}
  for _, worker in ipairs(text.names(own.assignees)) do
    local is_named = has(named, worker)
    local has_skipped = skip.has(r, worker) and not (is_asked and is_named)
    if not has_skipped and not routing.excludes(own, worker) and part.lets_have(q, id, worker, is_named) then
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

-- A job that has expired can no longer be completed or requeued.
local function is_over(q, own)
  return own.expires and own.expires <= clock.now(q)
end

-- How many jobs of the batch get no worker of their own if this job has that route.
local function unanswered(q, id, own, named)
  local jobs, given, left = {}, {}, 0
  write.spend(q, #members(id, own)) -- the look at one costs as much as a command
  for _, member in ipairs(members(id, own)) do
    local job, is_asked = q.loaded[member], member == id
    local rule = is_asked and own or job and route.of(q, member, job.header)
    local remains = job and REMAINS[job.record.state] and rule and not is_over(q, rule)
    if remains and is_bound(rule) then jobs[#jobs + 1] = workers_of(q, member, rule, named, is_asked) end
  end
  for i in ipairs(jobs) do
    if not assign(jobs, i, given, {}) then left = left + 1 end
  end
  return left
end

-- Whether a change leaves a worker of its own to as many jobs of the batch as before.
local function allows(q, id, header, after, named)
  if not after.overlap or not is_bound(after) then return true end
  opinions.prefetch(q, {id})
  local left = unanswered(q, id, after, named)
  return left == 0 or left <= unanswered(q, id, route.of(q, id, header), '')
end

-- Why an operator's call that names these workers, each after its length, may not give a job this route; nil for nothing. A call that names
-- one list may exclude all of the other.
function opinions.refusal(q, id, header, after, named)
  local own, assignees = route.of(q, id, header), after.assignees or ''
  local is_other = not own or own.assignees ~= after.assignees or own.excluded ~= after.excluded
  if is_other and routing.excludes_all(after, text.names(assignees)) then return 'excluded' end
  if not allows(q, id, header, after, named) then return 'overlap' end
end

-- The end of a grace is no skip if its worker is one of these. Returns whether it was to be one.
local function call_off_skip(r, names)
  if r.lease == '' then return false end
  local lease = record.lease(r.lease)
  if not record.is_marked(lease, record.SKIPS) then return false end
  for _, name in ipairs(names) do
    if name == lease.worker then
      lease.marks = lease.marks - record.SKIPS
      r.lease = record.pack_lease(lease)
      return true
    end
  end
  return false
end

-- An operator names workers for the job: who has skipped it, or another one of its batch, is offered it again, and with it the other jobs
-- of the batch, which may wait already. Returns whether one had.
function opinions.offer_again(q, id, r, header, names)
  local before, has_skipped = r.skips, call_off_skip(r, names)
  for _, name in ipairs(names) do
    skip.take_back(r, name)
    if part.take_back(q, id, header, name) then
      has_skipped = true
      hint.line_ready(q, '$WORKER_LINE' .. name, 1)
    end
  end
  return has_skipped or r.skips ~= before
end

return opinions
