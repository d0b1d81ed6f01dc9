-- next_jobs: new jobs in order, as many as a call asks for and as the byte budget allows; one call always gets one.
local record = require 'base/record'
local text = require 'base/text'
local baton = require 'jobs/baton'
local skip = require 'jobs/skip'
local line = require 'jobs/line'
local hand = require 'jobs/hand'
local take = require 'jobs/take'

-- For who has skipped it, a job is not in line: the next that is parked at its gates comes in its stead.
local function pass_over(q, job, seen)
  local served = q.served
  if not record.is_gated(job.header) or seen[job.id] then return end
  seen[job.id] = true
  if served.passed_over >= line.CANDIDATES then return end
  served.passed_over = served.passed_over + 1
  baton.pass_all(q, job.id, job.header)
end

-- Has the answer room for the job? If it has not, and nothing is in it for this call, the call comes again.
local function fits(q, job, given, bytes)
  local weight, spent = hand.size(q, job.id, job.raw), q.hand.spent
  if #given > 1 and bytes + weight > hand.BYTES then return false end
  if spent > 0 and spent + weight > hand.BYTES then return false end
  q.hand.spent = spent + weight
  return true, bytes + weight
end

-- Nothing was found: where to go on, or that all was skipped.
local function nothing(q, call, given, passed)
  -- A call that goes on has passed somebody before.
  if call.member then passed = passed or {call.place, call.member} end
  local l = q.line
  if hand.is_tired(q) and l.cursor <= #l or l.cursor > #l and not l.ends then
    return {'more', passed and text.of(passed[1]) or '', passed and passed[2] or ''}
  end
  return passed and {'skipped'} or given
end

return function(q, call)
  local given, bytes, passed, seen = {'new'}, 0, nil, {}
  line.rewind(q)
  while #given <= call.limit and not hand.is_tired(q) do
    local entry = line.current(q)
    if not entry then break end
    local job, full = take.look_at(q, entry[1], entry[2], entry[3], entry[4])
    if job.record.skips ~= '' and skip.has(job.record, call.worker) then
      passed = {entry[2], entry[5]}
      line.pass(q)
      pass_over(q, job, seen)
    elseif full then
      line.turn_away(q)
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
  return nothing(q, call, given, passed)
end
