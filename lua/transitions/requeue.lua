-- requeue: an operator gives dead jobs another life, or runs a delayed one now.   dead | delayed -> waiting | blocked
-- FLAGS  allow-oom
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · held zset ·
-- KEYS   restricted zset · lines zset · turns hash · jobs hash · live hash · results hash · drafts hash ·
-- KEYS   dedupe hash · gates hash · batches hash · timers zset · routes hash · alarms zset · tops hash ·
-- KEYS   settings hash · totals hash · events stream · actions hash · hints channel
-- ARGV   'job' id | 'queue' died until (a stamp; 0 = now), client ('' = any), batch ('' = any), text of an error
-- ARGV   ('' = any), enqueued before (ms, '' = any), score and id of the last one that stays ('' = from the
-- ARGV   front), name of the API key ('' = none), note for the list of actions
-- REPLY  {'requeued', n, more (0 | 1), died until (a stamp), score and id of the last one that stays: it does not match, or
-- REPLY  its batch is over or called off, or it has expired} | {'unknown'} |
-- REPLY  {'state', state}: completed, cancelled, dead in a batch that is over or called off, or dead and expired; a delayed job
-- REPLY  that has expired counts as cancelled
local record = require 'base/record'
local write = require 'base/write'
local event = require 'base/event'
local action = require 'base/action'
local total = require 'base/total'
local stamp = require 'base/stamp'
local commit = require 'base/commit'
local batch = require 'base/batch'
local order = require 'jobs/order'
local dedupe = require 'jobs/dedupe'
local gate = require 'jobs/gate'
local baton = require 'jobs/baton'
local search = require 'jobs/search'
local route = require 'jobs/route'
local alarm = require 'jobs/alarm'
local routing = require 'jobs/routing'
local lapse = require 'jobs/lapse'
local STEP = $STEP_JOBS
local STATES, DEAD, DELAYED = record.STATES, record.DEAD, record.DELAYED

-- Reads the dead jobs after the last one that stays, up to `step.last`: ids, times of death, and whether these are all.
local function read_dead(q, step)
  local from = search.rank_after(q, q.dead, step.score, step.member)
  local entries = redis.call('ZRANGE', q.dead, from, from + STEP - 1, 'WITHSCORES')
  step.ids, step.ends = {}, #entries < STEP * 2
  for i = 1, #entries, 2 do
    if tonumber(entries[i + 1]) > step.last then
      step.ends = true
      return
    end
    step.ids[#step.ids + 1], step.died_at[#step.died_at + 1] = entries[i], entries[i + 1]
  end
end

local function open(q, args)
  local step = {
    ids = {args[2]}, died_at = {}, last = stamp.last(q), ends = true, is_queue = args[1] == 'queue', requeued = 0,
    filter = search.filter(args, 3), score = args[7] or '', member = args[8] or '',
  }
  if step.is_queue then
    if args[2] ~= '0' then step.last = tonumber(args[2]) end
    read_dead(q, step)
  end
  return step
end

-- Reads the jobs, {id, record, header} each.
local function read_jobs(q, ids)
  local lives, headers = redis.call('HMGET', q.live, unpack(ids)), redis.call('HMGET', q.jobs, unpack(ids))
  route.prefetch(q, ids, headers)
  local jobs = {}
  for i, id in ipairs(ids) do
    jobs[i] = lives[i] and headers[i] and {id = id, record = record.live(lives[i]), header = record.header(headers[i])}
  end
  return jobs
end

-- The same, and the owners of their dedupe keys.
local function read(q, step)
  local digests = {}
  step.jobs = step.is_queue and read_jobs(q, step.ids) or lapse.read(q, step.ids)
  step.owners, step.twins = {}, {}
  for _, job in ipairs(step.jobs) do
    local digest = job and job.header.digest
    if digest then digests[#digests + 1], digests[#digests + 2] = digest, dedupe.twins(digest) end
  end
  if #digests > 0 then
    local found = redis.call('HMGET', q.dedupe, unpack(digests))
    for i = 1, #digests, 2 do step.owners[digests[i]], step.twins[digests[i]] = found[i], found[i + 1] end
  end
  gate.prefetch(q, step.jobs)
end

-- A dead job stays dead once its batch is over or cancelled, or once it has expired.
local function is_kept(q, id, r, header)
  if r.state ~= DEAD then return false end
  if route.is_over(q, id, header) then return true end
  local b = record.is_member(header) and batch.read(q, batch.of(id))
  return b and (batch.is_over_by_now(b) or batch.is_marked(b, batch.TO_CANCEL))
end

local function new_turn(q, r, header)
  write.spend(q, 2)
  order.arrive(q, r, r.score < 0 and r.priority or order.priority_of(r.score), header.client)
end

-- Gives a dead job another life. It takes its dedupe key again, after the jobs that own it by now.
local function revive(q, step, id, r, header)
  if header.digest then dedupe.take(q, id, header.digest, step.owners, step.twins) end
  r.attempts, r.skips = 0, ''
  new_turn(q, r, header)
  write.remove(q, 'dead', id)
  local own = route.of(q, id, header)
  if own then routing.restart(q, id, own) end
  alarm.restart(q, id, header)
  event.add(q, 'requeued', id, '', header, '')
  total.count(q, 'requeued')
end

local function run_now(q, id, r, header)
  if r.score < 0 then new_turn(q, r, header) end
  write.remove(q, 'delayed', id)
  event.add(q, 'due', id, '', header, '')
end

local function requeue_job(q, step, job)
  local id, r, header = job.id, job.record, job.header
  if r.state == DEAD then revive(q, step, id, r, header) else run_now(q, id, r, header) end
  step.requeued = step.requeued + 1
  baton.line_up(q, id, r, header)
end

local function consider(q, step, i)
  local id, job = step.ids[i], step.jobs[i]
  if not job then
    if step.is_queue then write.remove(q, 'dead', id) end
    return
  end
  local r, header = job.record, job.header
  local can_requeue = (r.state == DEAD or r.state == DELAYED) and not is_kept(q, id, r, header)
  if can_requeue and search.matches(id, header, r, step.filter) then return requeue_job(q, step, job) end
  step.score, step.member = step.died_at[i] or '', id
end

-- The reply if one job cannot be requeued; nil if it can.
local function refusal(q, step)
  local job = step.jobs[1]
  if not job then return {'unknown'} end
  local state = job.record.state
  if state == record.COMPLETED or state == record.CANCELLED or is_kept(q, job.id, job.record, job.header) then
    return {'state', STATES[state]}
  end
end

return function(q, args)
  local step = open(q, args)
  event.set_actor(q, args[9])
  if #step.ids == 0 then return {'requeued', 0, 0, step.last, step.score, step.member} end
  read(q, step)
  local refused = not step.is_queue and refusal(q, step)
  if refused then return commit(q, refused) end
  for i in ipairs(step.ids) do
    if write.is_spent(q) then
      step.ends = false
      break
    end
    consider(q, step, i)
  end
  action.add(q, args[10], step.requeued)
  return commit(q, {'requeued', step.requeued, step.ends and 0 or 1, step.last, step.score, step.member})
end
