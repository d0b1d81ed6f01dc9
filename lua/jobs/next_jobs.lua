-- next_jobs: hands out jobs in order, up to the limit of the call and the byte budget; the first job always fits.
local record = require 'base/record'
local hint = require 'base/hint'
local text = require 'base/text'
local write = require 'base/write'
local ask = require 'jobs/ask'
local baton = require 'jobs/baton'
local skip = require 'jobs/skip'
local line = require 'jobs/line'
local first_place = require 'jobs/first_place'
local follow = require 'jobs/follow'
local handout = require 'jobs/handout'
local routing = require 'jobs/routing'
local take = require 'jobs/take'
local SKIPPED, NOT_ELIGIBLE, HELD_UP = ask.SKIPPED, ask.NOT_ELIGIBLE, ask.HELD_UP
local bor = bit.bor
-- What it costs to pass over an entry, in commands: the first call of a script decodes its records.
local FIRST, AGAIN = 0.3, 0.1

-- For a worker who may not have it, and for all once it has expired, a job is not in line: the next job parked at its gates is put back
-- instead.
local function pass_baton(q, job, seen)
  local served = q.served
  if not record.is_gated(job.header) or seen[job.id] then return end
  seen[job.id] = true
  if served.passed_over >= line.CANDIDATES then return end
  served.passed_over = served.passed_over + 1
  baton.pass_all(q, job.id, job.header)
end

-- What this call has passed over: why, the last entry, in which lines, the jobs whose batons it has passed, and the gates that held it up.
-- `by_name`: another worker with the same skills might have passed over others.
local function passed_of(call)
  call.passed = call.passed or {
    bits = call.bits, last = false, names = {}, lines = {}, seen = {}, gates = {}, by_name = call.bits > 0 and call.bits ~= HELD_UP,
  }
  return call.passed
end

-- Calls with this key pass over the same jobs: all with the same skills, or all of a worker with them.
local function key_of(call, by_name)
  return table.concat({call.bits, by_name and '$WORKER_LINE' .. call.worker or '', unpack(call.skills)}, '\0')
end

-- Goes on where a call ended that passes over the same jobs. Returns what it has passed over; nil for no such call.
local function follow_on(q, call)
  if q.line.ended then return follow.on(q, key_of(call, false)) or follow.on(q, key_of(call, true)) end
end

local function note_gate(gates, name)
  if gates[name] then return end
  gates[name], gates[#gates + 1] = true, hint.gate_mark(name)
end

-- Whether all workers with the same skills pass over it.
local function is_for_all_alike(q, job, why)
  return why == HELD_UP and job.record.skips == '' and routing.is_by_skill(q, job.id, job.header)
end

-- Passes over the current job. `why` is 0 if it has expired.
local function pass_over(q, call, job, entry, why)
  local passed, name = passed_of(call), line.name(q)
  passed.last, passed.bits = entry, bor(passed.bits, why)
  write.spend(q, entry.is_passed and AGAIN or FIRST)
  entry.is_passed = true
  if why == HELD_UP then note_gate(passed.gates, job.full) end
  passed.by_name = passed.by_name or why > 0 and not is_for_all_alike(q, job, why)
  if why > 0 and not passed.lines[name] then
    passed.lines[name] = true
    passed.names[#passed.names + 1] = name
  end
  line.pass(q)
  if name == '' then pass_baton(q, job, passed.seen) end
end

-- Whether the job fits into the reply, and the bytes of this call so far.
local function fits(q, job, given, bytes)
  local weight, spent = handout.size(q, job.id, job.raw), q.handout.spent
  if #given > 1 and bytes + weight > handout.BYTES then return false end
  if spent > 0 and spent + weight > handout.BYTES then return false end
  q.handout.spent = spent + weight
  return true, bytes + weight
end

-- Whether there are jobs that this worker may not have, if it has met none that it may.
local function is_kept_from_all(q, bits)
  if bits > 0 or not q.context.is_routed then return false end
  write.flush(q) -- a call before may have taken the last
  return write.ask(q, 'EXISTS', q.restricted) == 1
end

-- The lines with jobs that were passed over. A continued call does not know in which of its lines the calls before have met them.
local function passed_lines(q, call)
  return call.bits > 0 and line.names(q) or call.passed.names
end

-- The reply of a call that found nothing: where to continue, or why.
local function nothing(q, call)
  local passed = passed_of(call)
  local last, gates = passed.last, table.concat(passed.gates)
  local is_stopped = handout.is_full(q) and line.has_more(q)
  -- The calls before have left it only a part of what it may look at.
  if is_stopped and q.served.is_answered then return {'later'} end
  if is_stopped or line.is_cut_short(q) then
    -- A continued call has passed jobs before.
    local place, member = last and last.place or call.place, last and last.member or call.member
    return {'more', text.words(passed.bits .. (place and text.of(place) or ''), gates), member or ''}
  end
  if is_kept_from_all(q, passed.bits) then passed.bits = NOT_ELIGIBLE end
  if passed.bits == 0 then return {'new'} end
  local waiting = q.context.is_routed and line.own_waiting(q) or 0
  return {'passed', text.words(passed.bits, waiting), gates, unpack(passed_lines(q, call))}
end

-- Why a job is passed over; 0 if it has expired, nil if it is not.
local function reason(q, call, job)
  if job.is_over then return 0 end
  if job.rule then return NOT_ELIGIBLE end
  if job.record.skips ~= '' and skip.has(job.record, call.worker) then return SKIPPED end
  -- A job that is not for everybody is never parked.
  if job.full and line.name(q) ~= '' then return HELD_UP end
end

return function(q, call)
  local given, bytes = {'new'}, 0
  line.rewind(q, call)
  call.passed = follow_on(q, call)
  local is_first = true
  -- Each script looks at one job at least, also if reading the lines took all of its time.
  while #given <= call.limit and (is_first or not handout.is_full(q)) do
    local entry = line.current(q)
    if not entry then break end
    is_first = false
    local job = take.look_at(q, call, entry)
    local why, full = reason(q, call, job), job.full
    if why then
      pass_over(q, call, job, entry, why)
    elseif full then
      line.reject(q)
      take.block(q, job)
    else
      local has_room
      has_room, bytes = fits(q, job, given, bytes)
      if not has_room then
        if #given == 1 then return {'later'} end
        break
      end
      local first_passed = line.name(q) == '' and first_place.passed or first_place.for_all
      line.drop(q)
      given[#given + 1] = take.job(q, job, call, #given, first_passed)
    end
  end
  if #given == 1 then
    local passed = passed_of(call)
    follow.note(q, key_of(call, passed.by_name), passed)
    return nothing(q, call)
  end
  if q.context.is_routed then given[1] = 'new ' .. line.own_waiting(q) end
  return given
end
