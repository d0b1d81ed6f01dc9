-- hand_over: the holder gives the job to another worker, or to those with a skill, and it keeps its place.
--            reserved -> waiting
-- FLAGS  allow-oom if-small
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · held zset ·
-- KEYS   restricted zset · lines zset · turns hash · jobs hash · live hash · results hash · drafts hash ·
-- KEYS   dedupe hash · gates hash · batches hash · timers zset · routes hash · alarms zset · tops hash ·
-- KEYS   settings hash · totals hash · events stream · hints channel
-- ARGV   per item 7: id, secret, digest of the secret, line ('@name' | '+skill'), note ('' = none), how long it is only for these, ms;
-- ARGV   draft ('' = leave it, 'null' = remove it)
-- REPLY  per item: {'handed', state} | {'again', state} | {'lost', how, state ('' = unknown)} | {'closing', ms left to take back its completion} | {'same'}: it is the holder |
-- REPLY  {'ineligible', rule} | {'elsewhere', line, state}: it has handed the job to another | {'later'}: in the next script, as all after it
local record = require 'base/record'
local event = require 'base/event'
local total = require 'base/total'
local text = require 'base/text'
local commit = require 'base/commit'
local ended = require 'jobs/ended'
local skip = require 'jobs/skip'
local back = require 'jobs/back'
local items = require 'jobs/items'
local draft = require 'jobs/draft'
local route = require 'jobs/route'
local routing = require 'jobs/routing'
local STRIDE = 7
local STATES = record.STATES

local function give(q, job, id, line, note, ms)
  local r, header, worker = job.record, job.header, job.lease.worker
  local lease = job.lease
  items.end_reservation(q, job, id, ended.HANDED_OVER, line)
  draft.give(q, id, lease)
  local own = route.open(q, id, header)
  route.flag(q, id, header)
  if line:byte() == routing.WORKER then skip.take_back(r, line:sub(2)) end
  routing.hand_over(q, id, own, line, worker, note, ms)
  event.add(q, 'handed-over', id, worker, header, line)
  back.to_line(q, id, r, header)
  total.count(q, 'handed_over')
  return {'handed', STATES[r.state]}
end

-- Another receiver is no repetition. Hand-overs of an earlier version have no note.
local function refuse(q, id, digest, line)
  local job = q.loaded[id]
  local how, to, _
  if job then _, how, _, _, to = ended.find(job.record, digest) end
  if how == ended.HANDED_OVER and to ~= '' and to ~= line then return {'elsewhere', to, STATES[job.record.state]} end
  return items.refuse(q, id, digest, ended.HANDED_OVER)
end

local function hand_over(q, args, at)
  local id, secret, digest, line = args[at], args[at + 1], args[at + 2], args[at + 3]
  local job = items.live_holder(q, id, secret, digest)
  if not job then return refuse(q, id, digest, line) end
  local to = line:byte() == routing.WORKER and line:sub(2)
  if to == job.lease.worker then return {'same'} end
  local own = route.of(q, id, job.header)
  if to and own and own.excluded and text.has(own.excluded, to) then return {'ineligible', 'excluded'} end
  if own and own.overlap then return {'ineligible', 'overlap'} end
  draft.save(q, id, job.lease, args[at + 6])
  return give(q, job, id, line, args[at + 4], tonumber(args[at + 5]))
end

return function(q, args)
  items.read(q, args, STRIDE)
  items.prefetch_ends(q)
  return commit(q, items.each(q, args, STRIDE, hand_over))
end
