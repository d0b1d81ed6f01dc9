-- reassign: an operator gives what waits for a worker to others, or to everybody, one bounded step.   waiting -> waiting | blocked
-- FLAGS  allow-oom
-- KEYS   inbound zset · parked zset · restricted zset · lines zset · jobs hash · live hash · gates hash ·
-- KEYS   batches hash · timers zset · routes hash · alarms zset · settings hash · totals hash · events stream ·
-- KEYS   actions hash · hints channel
-- ARGV   worker, the names that take their place, each after its length ('' = none), score and member in `lines` of the last one that
-- ARGV   stays ('' = from the front), name of the API key ('' = none), note for the list of actions
-- REPLY  {changed, refused, more (0 | 1), score and member of the last one that stays: every new name is excluded from it, or it
-- REPLY  would get too many assignees, or more jobs of its batch would lack a worker of their own than before}
local record = require 'base/record'
local text = require 'base/text'
local write = require 'base/write'
local event = require 'base/event'
local action = require 'base/action'
local commit = require 'base/commit'
local place = require 'jobs/place'
local loaded = require 'jobs/loaded'
local gate = require 'jobs/gate'
local baton = require 'jobs/baton'
local lines = require 'jobs/lines'
local line_set = require 'jobs/line_set'
local routing = require 'jobs/routing'
local route = require 'jobs/route'
local opinions = require 'jobs/opinions'
local alarm = require 'jobs/alarm'
local STEP, OPINIONS, MAX = 100, 20, $MAX_ASSIGNEES

-- The assignees of a job with the new names in the place of one of them, each once.
local function replaced(own, from, new)
  local kept, met = {}, {}
  for _, name in ipairs(text.names(own.assignees or '')) do
    for _, one in ipairs(name ~= from and {name} or new) do
      if not met[one] then kept[#kept + 1], met[one] = one, true end
    end
  end
  return kept
end

-- With one new worker the hand-over goes to them; with none or several it ends.
local function change(own, from, new)
  local assignees = replaced(own, from, new)
  for i, name in ipairs(assignees) do assignees[i] = text.short(name) end
  own.assignees = #assignees > 0 and table.concat(assignees) or nil
  if not own.handed then return end
  if #new == 1 then own.handed.line = '$WORKER_LINE' .. new[1] else own.handed = nil end
end

-- Whether every new name is excluded, or there would be too many, or the job may not get that route.
local function is_refused(q, id, header, from, new, named)
  local after = route.copy(q, id, header)
  if #replaced(after, from, new) > MAX or routing.excludes_all(after, new) then return true end
  change(after, from, new)
  return opinions.refusal(q, id, header, after, named)
end

local function move(q, id, job, from, new)
  local own = route.of(q, id, job.header)
  lines.leave(q, id, job.record, job.header)
  change(own, from, new)
  if opinions.offer_again(q, id, job.record, job.header, new) then gate.keep(q, id, job.record) end
  if not routing.is_for_some(own) then own.fallback_at = nil end
  route.keep(q, id, own)
  alarm.set(q, id, own)
  baton.line_up(q, id, job.record, job.header)
  event.add(q, 'changed', id, '', job.header, '')
end

-- The jobs in the line after the last one that stays, {id, member} each.
local function read(q, line, member)
  local found, ids = {}, {}
  write.spend(q, 1)
  for i, own in ipairs(line_set.read(q, line, member ~= '' and member, STEP)) do
    found[i] = {id = place.id_of(own), member = own}
    ids[i] = found[i].id
  end
  loaded.read(q, ids)
  local jobs = {}
  for i, id in ipairs(ids) do jobs[i] = q.loaded[id] and {id = id, header = q.loaded[id].header} end
  route.read(q, ids)
  -- The budget is spent after few jobs of an overlap: more of them are read one by one.
  opinions.prefetch(q, {unpack(ids, 1, OPINIONS)})
  gate.prefetch(q, jobs)
  return found
end

return function(q, args)
  local from, new, score, member = args[1], text.names(args[2]), args[3], args[4]
  event.set_actor(q, args[5])
  local found = read(q, '$WORKER_LINE' .. from, member)
  local changed, refused, more = 0, 0, #found >= STEP
  for _, one in ipairs(found) do
    if write.is_spent(q) then
      more = true
      break
    end
    local job = q.loaded[one.id]
    local own = job and route.of(q, one.id, job.header)
    if not own or job.record.state ~= record.WAITING then
      write.remove(q, 'lines', one.member) -- the job is gone
    elseif is_refused(q, one.id, job.header, from, new, args[2]) then
      refused, score, member = refused + 1, '0', one.member
    else
      changed = changed + 1
      move(q, one.id, job, from, new)
    end
  end
  action.add(q, args[6], changed)
  return commit(q, {changed, refused, more and 1 or 0, score, member})
end
