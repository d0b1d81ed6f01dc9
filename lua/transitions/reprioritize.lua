-- reprioritize: an operator changes how urgent a job is, or those of one state are; a reserved one has it on its return. For one job also
--        when it expires and when its SLA is over.
--        waiting | blocked | reserved | delayed, blocked -> waiting if it has come before others
-- FLAGS  allow-oom
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · held zset ·
-- KEYS   restricted zset · lines zset · turns hash · jobs hash · live hash · results hash · drafts hash ·
-- KEYS   dedupe hash · gates hash · batches hash · timers zset · routes hash · alarms zset · tops hash ·
-- KEYS   settings hash · totals hash · events stream · actions hash · hints channel
-- ARGV   'job' id, priority ('' = as it is), changes of its route as jobs/route reads them ('' = none), the first ms and the one after
-- ARGV   the last at which these are valid |
-- ARGV   'queue' state; priority; client ('' = any), batch ('' = any), text of an error ('' = any),
-- ARGV   enqueued before (ms, '' = any), score and member of the last one that stays ('' = from the front); of both
-- ARGV   at their end, name of the API key ('' = none), note for the list of actions
-- REPLY  {'changed', state, priority, route ('' = none)} | {'unknown'} | {'untimely', now ms} |
-- REPLY  {'state', state}: the job has ended, or it is dead and another priority is asked for |
-- REPLY  {'delayed'}: it would expire before its delay ends | {'excluded'}: each of its assignees would be |
-- REPLY  {'overlap'}: more jobs of its batch would lack a worker of their own than before |
-- REPLY  {'all', n, more (0 | 1), score and member of the last one that stays: it has another state, does not match, has
-- REPLY  this priority already, or keeps its place in the set}
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local write = require 'base/write'
local event = require 'base/event'
local action = require 'base/action'
local commit = require 'base/commit'
local place = require 'jobs/place'
local order = require 'jobs/order'
local gate = require 'jobs/gate'
local loaded = require 'jobs/loaded'
local parking = require 'jobs/parking'
local baton = require 'jobs/baton'
local lines = require 'jobs/lines'
local routing = require 'jobs/routing'
local opinions = require 'jobs/opinions'
local search = require 'jobs/search'
local route = require 'jobs/route'
local alarm = require 'jobs/alarm'
local lapse = require 'jobs/lapse'
local STATES, WAITING, BLOCKED = record.STATES, record.WAITING, record.BLOCKED
local ENDED = {[record.COMPLETED] = true, [record.CANCELLED] = true, [record.DEAD] = true}
local SETS = {waiting = 'inbound', blocked = 'parked', delayed = 'delayed', reserved = 'reserved'}

-- The state of a job that has ended. A dead job may get another expiry, which lets it be requeued, but no priority.
local function end_of(r, priority)
  local state = r.state
  if state == record.COMPLETED or state == record.CANCELLED or state == record.DEAD and priority then return state end
end

-- Puts the job at its new place in line or at its gate.
local function line_up_anew(q, id, r, header, name)
  if r.state == WAITING then
    lines.enter(q, id, r, header)
    -- A job parked at one of its gates may precede it now.
    if not routing.lines(q, id, header) then baton.pass_all(q, id, header) end
  elseif r.state == BLOCKED then
    baton.park(q, id, r, header, name)
    -- If it is the first there now and there is room, it goes back into line.
    if place.id_of(parking.first(q, name)) == id then baton.pass(q, name) end
  end
end

-- Returns whether the priority changed.
local function change(q, id, r, header, priority)
  local before = r.score < 0 and r.priority or order.priority_of(r.score)
  if before == priority then return false end
  local name = r.gate
  if r.state == BLOCKED then baton.unpark(q, id, r) end
  if r.state == WAITING then lines.leave(q, id, r, header) end
  r.priority = priority
  if r.score >= 0 then
    if not order.is_loaded(q, priority, header.client) then write.spend(q, 2) end
    order.arrive(q, r, priority, header.client)
  end
  gate.keep(q, id, r)
  line_up_anew(q, id, r, header, name)
  event.add(q, 'changed', id, '', header, '')
  return true
end

-- Another rule who may have the job counts from now, or from when the job is next ready.
local function count_anew(q, id, r, own)
  routing.restart(q, id, own)
  if r.state == record.DELAYED or r.state == record.DEAD then return end
  if own.fallback and routing.is_for_some(own) then own.fallback_at = clock.now(q) + own.fallback end
end

local function apply(q, id, r, header, asked)
  local own, before = route.open(q, id, header)
  local is_rule, names_line, assigns = route.changes(asked)
  route.apply(q, own, asked)
  local is_again = assigns and own.assignees and opinions.offer_again(q, id, r, header, text.names(own.assignees))
  if is_again then gate.keep(q, id, r) end
  -- It ends a hand-over if it names workers or a skill, or excludes who has it.
  if names_line or routing.excludes_receiver(own) then routing.call_off_hand_over(q, own, r.state == record.RESERVED) end
  if is_rule then count_anew(q, id, r, own) end
  if not route.close(q, id, own, before) then return is_again, own, is_again end
  route.flag(q, id, header)
  if r.state ~= record.DEAD then alarm.set(q, id, own, r.state == record.RESERVED) end
  return true, own, is_again
end

local function named(q, id, header)
  return table.concat(routing.lines(q, id, header) or {}, '\0')
end

-- Changes the route of a job that waits or is blocked, and then where it stands.
local function apply_in_line(q, id, r, header, asked)
  local before, own_before = named(q, id, header), route.of(q, id, header)
  local excluded = own_before and own_before.excluded
  if r.state == WAITING then lines.leave(q, id, r, header) end
  local is_changed, own, is_again = apply(q, id, r, header, asked)
  local is_moved = named(q, id, header) ~= before
  if r.state == BLOCKED then
    if not is_moved then return is_changed end
    baton.unpark(q, id, r)
  elseif not is_moved then
    local named_lines = lines.enter(q, id, r, header)
    if is_again or is_changed and own.excluded ~= excluded then lines.announce(q, named_lines) end
    return is_changed
  elseif before == '' then
    baton.pass_all(q, id, header)
  end
  baton.line_up(q, id, r, header)
  return is_changed
end

-- Changes the route of a job. Returns whether anything changed.
local function change_route(q, id, r, header, asked)
  if asked == '' then return false end
  local stands = r.state == WAITING or r.state == BLOCKED
  if not (stands and apply_in_line or apply)(q, id, r, header, asked) then return false end
  if r.state == record.RESERVED then
    local deadline = tonumber(redis.call('ZSCORE', q.reserved, id))
    write.add(q, 'reserved', text.of(route.cut(q, id, header, route.uncut(q, id, header, deadline))), id)
  end
  return true
end

-- Why a change of the route is not made; nil for nothing.
local function refusal(q, job, asked, from, before)
  local id, header, now = job.id, job.header, clock.now(q)
  if now < from or now >= before then return {'untimely', now} end
  local own, after = route.of(q, id, header), route.apply(q, route.copy(q, id, header), asked)
  local has_other_expiry = after.expires and not (own and own.expires == after.expires)
  if has_other_expiry and job.record.state == record.DELAYED and after.expires <= job.at then return {'delayed'} end
  local _, _, assigns = route.changes(asked)
  local why = opinions.refusal(q, id, header, after, assigns and after.assignees or '')
  if why then return {why} end
end

local function change_one(q, id, priority, asked, from, before, note)
  local job = lapse.read(q, {id})[1]
  if not job then return {'unknown'} end
  local r, header = job.record, job.header
  local state = end_of(r, priority)
  if state then return {'state', STATES[state]} end
  local refused = asked ~= '' and refusal(q, job, asked, from, before)
  if refused then return refused end
  local own = route.of(q, id, header)
  if own and r.state ~= record.DEAD and alarm.breach(q, id, own, header) then
    alarm.set(q, id, own, r.state == record.RESERVED)
  end
  local is_other = change_route(q, id, r, header, asked)
  if priority and change(q, id, r, header, priority) then
    is_other = true
  elseif is_other then
    event.add(q, 'changed', id, '', header, '')
  end
  local answer = {'changed', STATES[r.state], r.score < 0 and r.priority or order.priority_of(r.score), route.raw(q, id, header)}
  if is_other then action.add(q, note, 1) end
  return answer
end

-- One entry of the set. A job that moved is met again at its new place, and then stays.
local function consider(q, step, entry)
  local job = entry.job
  if not job then return write.remove(q, step.set, entry.member) end -- the job is gone
  local id, r, header = job.id, job.record, job.header
  local is_there = r and STATES[r.state] == step.state and not ENDED[lapse.state(q, id, r, header, tonumber(entry.score) or 0)]
    and search.matches(id, header, r, step.filter)
  local changed = is_there and change(q, id, r, header, step.priority)
  if changed then step.changed = step.changed + 1 end
  if changed and (step.key == 'inbound' or step.key == 'parked') then return end
  step.score, step.member = entry.score, entry.member
end

local function change_all(q, args)
  local step = {
    state = args[2], key = SETS[args[2]], priority = tonumber(args[3]), filter = search.filter(args, 4), score = args[8],
    member = args[9], changed = 0,
  }
  local sets = {
    inbound = q.inbound, restricted = q.restricted, parked = q.parked, delayed = q.delayed, reserved = q.reserved,
  }
  local entries, jobs, more = search.read(q, sets, step)
  if #entries == 0 then return {'all', 0, search.next_set(q, step) and 1 or 0, step.score, step.member} end
  gate.prefetch(q, jobs)
  route.prefetch_jobs(q, jobs)
  -- A baton that one of them passes may put back another.
  for _, job in ipairs(jobs) do
    if job and job.record then loaded.note(q, job.id, job.record, job.header) end
  end
  for _, entry in ipairs(entries) do
    if write.is_spent(q) then
      more = true
      break
    end
    consider(q, step, entry)
  end
  more = more or search.next_set(q, step)
  action.add(q, args[#args], step.changed)
  return commit(q, {'all', step.changed, more and 1 or 0, step.score, step.member})
end

return function(q, args)
  event.set_actor(q, args[#args - 1])
  if args[1] == 'queue' then return change_all(q, args) end
  return commit(q, change_one(q, args[2], tonumber(args[3]), args[4], tonumber(args[5]), tonumber(args[6]), args[#args]))
end
