-- reserve: a worker takes the next jobs, or gets back the jobs that they hold.   waiting -> reserved | blocked
-- FLAGS  allow-oom
-- KEYS   inbound zset · reserved zset · delayed zset · parked zset · held zset · restricted zset · lines zset ·
-- KEYS   turns hash · jobs hash · payloads hash · live hash · drafts hash · gates hash · batches hash ·
-- KEYS   timers zset · routes hash · alarms zset · tops hash · settings hash · totals hash · events stream ·
-- KEYS   hints channel
-- ARGV   per call 1: packed, as jobs/ask reads it: mode (next; next and surely new; resume; this) and whether it waits until
-- ARGV   nothing is overdue, limit, lease ms (0 = the job's), nonce, worker ('' = unnamed), by which credential it came, a claim
-- ARGV   a job (its secret and the digest of it), then the skills of the worker (none = '') as jobs/ask reads them, then id (mode this),
-- ARGV   or place and member to continue after, a space between them, and before them a digit that says why jobs were passed over ('' = from the front)
-- REPLY  {now ms, warn ms, waiting blocked delayed reserved paused (0 | 1) next ms (-1 = never): words, per call:
-- REPLY  {'new' | 'held', of each job: id deadline ms: words; record, live record; if they continue with 'more', payload ('' = in
-- REPLY  the record), draft ('' = none) and note of a hand-over (when, name after its length, text; '' = none)}; after 'new' how many
-- REPLY  jobs wait in the lines of the caller |
-- REPLY  {'overdue'}: sweep first | {'later'}: the reply is full or the budget is spent |
-- REPLY  {'more', why jobs were passed over and place, marks of the gates that held some up: words; member}: nothing among those looked at;
-- REPLY  continue after that one ('' = from the front) |
-- REPLY  {'passed', why and how many wait in the lines of the caller: words; marks of those gates; lines with jobs that were passed over
-- REPLY  ('' = of jobs for everybody)} |
-- REPLY  {'ineligible', rule} |
-- REPLY  {'unknown'} | {'state', state} | {'paused'} | {'limit'}}
local text = require 'base/text'
local commit = require 'base/commit'
local ask = require 'jobs/ask'
local handout = require 'jobs/handout'
local line = require 'jobs/line'
local resume = require 'jobs/resume'
local reserve_context = require 'jobs/reserve_context'
local next_jobs = require 'jobs/next_jobs'
local this_job = require 'jobs/this_job'
local STRIDE = 1

local function read_calls(args)
  local calls = {}
  for i = 1, #args, STRIDE do calls[i] = ask.read(args[i]) end
  return calls
end

-- Reads as much of the lines as the calls can want.
local function read_lines(q, calls)
  local wanted, those = 0, {}
  for i = 1, #calls do
    local call = calls[i]
    if call.mode ~= ask.RESUME and not call.waits and not call.member then wanted = wanted + call.limit end
    if call.mode <= ask.FRESH and not call.waits and not call.member then those[#those + 1] = call end
  end
  if wanted == 0 or q.context.is_paused then return end
  line.read_from(q, 0, '', math.min(wanted, line.CANDIDATES))
  if q.context.is_routed then line.read_own(q, those, wanted) end
end

-- Overdue jobs return to their places before any job is handed out, so that a lease of 300 s means 300 s and the oldest job comes
-- first. A call that has waited long enough for that goes ahead.
local function waits_for_sweep(call)
  return not (call.skips_overdue and call.mode ~= ask.THIS)
end

-- A queue that is paused still says how much waits for the caller.
local function nothing_while_paused(q, call)
  if not q.context.is_routed then return {'new'} end
  line.rewind(q, call)
  return {text.words('new', line.own_waiting(q))}
end

local function serve(q, call)
  local d = q.context
  local mine = resume.of(q, call)
  local before = resume.replay(q, mine, call.nonce)
  if before then return before end
  if call.mode == ask.THIS then return this_job(q, call, mine) end
  if call.mode == ask.RESUME then return resume.all(q, call, mine) end
  if call.worker ~= '' and d.worker_limit > 0 then
    if #mine >= d.worker_limit then return resume.all(q, call, mine) end
    call.limit = math.min(call.limit, d.worker_limit - #mine)
  end
  if d.is_paused then return nothing_while_paused(q, call) end
  line.go_to(q, call.place, call.member)
  return next_jobs(q, call)
end

return function(q, args)
  local calls, replies, has_empty = read_calls(args), {}, false
  reserve_context.open(q)
  -- `mine`: the jobs that each worker holds, if read; `touched`: the callers served by this script; `priorities`: those handed
  -- out; `passed_over`: skipped jobs whose batons were passed; `is_overdue`: a job is overdue; `is_answered`: a call has its reply.
  q.served = {
    mine = {}, touched = {}, priorities = {}, passed_over = 0, is_overdue = reserve_context.is_overdue(q), is_answered = false,
  }
  handout.open(q)
  line.open(q)
  if q.served.is_overdue then
    for _, call in ipairs(calls) do call.waits = waits_for_sweep(call) end
  end
  read_lines(q, calls)
  for i = 1, #calls do
    local call = calls[i]
    local reply = call.waits and {'overdue'} or handout.is_full(q) and {'later'} or serve(q, call)
    has_empty = has_empty or type(reply[2]) ~= 'table'
    q.served.is_answered = q.served.is_answered or not call.waits
    replies[i] = reply
  end
  handout.show_drafts(q, q.context.shares_drafts)
  return commit(q, function() return reserve_context.answer(q, replies, has_empty) end)
end
