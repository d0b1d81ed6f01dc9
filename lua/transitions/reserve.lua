-- reserve: a person takes the next job, or gets back what they hold.   waiting -> reserved | blocked
-- FLAGS  allow-oom
-- KEYS   inbound zset · reserved zset · delayed zset · parked zset · held zset · turns hash · jobs hash ·
-- KEYS   payloads hash · live hash · drafts hash · gates hash · batches hash · timers zset · tops hash ·
-- KEYS   settings hash · totals hash · events stream · hints channel
-- ARGV   per call 10: worker ('' = unnamed), nonce, limit, lease ms (0 = the job's), mode ('next' | 'fresh': next, and surely new |
-- ARGV   'resume' | 'this'),
-- ARGV   id (mode 'this'), secrets (26 characters a job), their digests (8 bytes a job), place and member to go on
-- ARGV   behind ('' = from the front)
-- REPLY  {now ms and warn ms, waiting blocked delayed reserved paused (0 | 1) next ms (-1 = never): words, {per call:
-- REPLY  {'new' | 'held', job …}: packed, its fields are id, record, payload ('' = in the record), live record, deadline ms,
-- REPLY  draft ('' = none) | {'overdue'}: sweep first | {'later'}: the others have filled the answer, or worn out the call |
-- REPLY  {'more', place, member}: nothing among those looked at; go on behind that one ('' = from the front) |
-- REPLY  {'skipped'}: all that is there, this worker has skipped |
-- REPLY  {'unknown'} | {'state', state} | {'paused'} | {'limit'}}}
local write = require 'base/write'
local commit = require 'base/commit'
local hand = require 'jobs/hand'
local line = require 'jobs/line'
local resume = require 'jobs/resume'
local desk = require 'jobs/desk'
local next_jobs = require 'jobs/next_jobs'
local this_job = require 'jobs/this_job'
local switch = require 'plain/switch'
local plain = require 'plain/reserve'
local STRIDE = 10

local function read_calls(args)
  local calls = {}
  for at = 1, #args, STRIDE do
    calls[#calls + 1] = {
      worker = args[at], nonce = args[at + 1], limit = tonumber(args[at + 2]), lease_ms = tonumber(args[at + 3]),
      mode = args[at + 4], id = args[at + 5], secrets = args[at + 6], digests = args[at + 7], from_place = args[at + 8],
      from = args[at + 9],
    }
  end
  return calls
end

-- Everything that the calls can want, read at once.
local function read_what_is_wanted(q, calls)
  local wanted = 0
  for _, call in ipairs(calls) do
    if call.mode ~= 'resume' then wanted = wanted + call.limit end
  end
  if wanted > 0 and not q.desk.is_paused then line.read_from(q, '', '', math.min(wanted, line.CANDIDATES)) end
end

local function serve_next(q, call)
  if call.from == '' then return next_jobs(q, call) end
  write.so_far(q)
  line.read_from(q, call.from_place, call.from, line.CHUNK)
  local given = next_jobs(q, call)
  write.so_far(q)
  line.read_from(q, '', '', line.CHUNK)
  return given
end

local function serve(q, call)
  local d = q.desk
  local mine = resume.of(q, call)
  local before = resume.replay(q, mine, call.nonce)
  if before then return before end
  if call.mode == 'this' then return this_job(q, call, mine) end
  if call.mode == 'resume' then return resume.all(q, call, mine) end
  if call.worker ~= '' and d.worker_limit > 0 then
    if #mine >= d.worker_limit then return resume.all(q, call, mine) end
    call.limit = math.min(call.limit, d.worker_limit - #mine)
  end
  if d.is_paused then return {'new'} end
  return serve_next(q, call)
end

local function whole(q, args)
  local calls, replies, is_hungry = read_calls(args), {}, false
  desk.open(q)
  -- `mine`: what each worker holds, as far as it was read; `touched`: who has been served by this call; `priorities`: which
  -- were handed out; `passed_over`: how many skipped jobs let others come in their stead.
  q.served = {mine = {}, touched = {}, priorities = {}, passed_over = 0}
  hand.open(q)
  line.open(q)
  -- What is overdue goes back to its place before anything is handed out: 300 s means 300 s, and the oldest comes first.
  local overdue = desk.is_overdue(q)
  if not overdue then read_what_is_wanted(q, calls) end
  for i, call in ipairs(calls) do
    local reply = overdue and {'overdue'} or hand.is_tired(q) and {'later'} or serve(q, call)
    is_hungry = is_hungry or type(reply[2]) ~= 'table'
    replies[i] = reply
  end
  hand.show_drafts(q, q.desk.shares_drafts)
  return commit(q, function() return desk.answer(q, replies, is_hungry) end)
end

return function(q, args)
  return switch.is_on and plain(q, args) or whole(q, args)
end
