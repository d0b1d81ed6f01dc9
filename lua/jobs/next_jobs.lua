-- next_jobs: hands out jobs in order, up to the limit of the call and the byte budget; the first job always fits.
local record = require 'base/record'
local text = require 'base/text'
local baton = require 'jobs/baton'
local skip = require 'jobs/skip'
local line = require 'jobs/line'
local handout = require 'jobs/handout'
local take = require 'jobs/take'

-- For a worker who has skipped it, and for all once it has expired, a job is not in line: the next job parked at its gates is put back
-- instead.
local function pass_over(q, job, seen)
  local served = q.served
  if not record.is_gated(job.header) or seen[job.id] then return end
  seen[job.id] = true
  if served.passed_over >= line.CANDIDATES then return end
  served.passed_over = served.passed_over + 1
  baton.pass_all(q, job.id, job.header)
end

-- Whether the job fits into the reply, and the bytes of this call so far.
local function fits(q, job, given, bytes)
  local weight, spent = handout.size(q, job.id, job.raw), q.handout.spent
  if #given > 1 and bytes + weight > handout.BYTES then return false end
  if spent > 0 and spent + weight > handout.BYTES then return false end
  q.handout.spent = spent + weight
  return true, bytes + weight
end

-- The reply of a call that found nothing: where to continue, or that all were skipped.
local function nothing(q, call, given, passed, skipped)
  -- A continued call has passed jobs before.
  if call.member then passed, skipped = passed or {call.place, call.member}, skipped or call.skipped end
  local l = q.line
  if handout.is_full(q) and l.cursor <= #l or l.cursor > #l and not l.ends then
    return {'more', passed and (skipped and '+' or '') .. text.of(passed[1]) or '', passed and passed[2] or ''}
  end
  return skipped and {'skipped'} or given
end

return function(q, call)
  local given, bytes, passed, skipped, seen = {'new'}, 0, nil, false, {}
  line.rewind(q)
  while #given <= call.limit and not handout.is_full(q) do
    local entry = line.current(q)
    if not entry then break end
    local job, full = take.look_at(q, entry[1], entry[2], entry[3], entry[4])
    local is_skipped = job.record.skips ~= '' and skip.has(job.record, call.worker)
    if is_skipped or job.is_over then
      passed, skipped = {entry[2], entry[5]}, skipped or not job.is_over
      line.pass(q)
      pass_over(q, job, seen)
    elseif full then
      line.reject(q)
      take.block(q, job, full)
    else
      local has_room
      has_room, bytes = fits(q, job, given, bytes)
      if not has_room then
        if #given == 1 then return {'later'} end
        break
      end
      line.drop(q)
      given[#given + 1] = take.job(q, job, call, #given, line.first_passed)
    end
  end
  if #given > 1 then return given end
  return nothing(q, call, given, passed, skipped)
end
