-- routing: who may have a job: its lines, the rule that keeps a worker from it, its fallback to everybody, and hand-overs.
local clock = require 'base/clock'
local text = require 'base/text'
local route = require 'jobs/route'
local alarm = require 'jobs/alarm'
local part = require 'jobs/part'
local routing = {WORKER = string.byte('$WORKER_LINE')}
local byte, sub, has = string.byte, string.sub, text.has
local WORKER = routing.WORKER

local function fell_back(own)
  return route.is_marked(own, route.FELL_BACK)
end

-- The lines of a job with this route, for each worker or skill that it is for; nil for a job that is for everybody.
local function lines_of(own)
  if own.handed then return {own.handed.line} end
  if fell_back(own) then return end
  if own.assignees then
    local lines = text.names(own.assignees)
    for i, name in ipairs(lines) do lines[i] = '$WORKER_LINE' .. name end
    return lines
  end
  return own.skill and {'$SKILL_LINE' .. own.skill}
end

-- The same; nil too for a job without a route.
function routing.lines(q, id, header)
  local own = route.of(q, id, header)
  if own then return lines_of(own) end
end

-- Whether a hand-over keeps this worker from the job; nil if it was not handed over.
local function rule_of_hand_over(own, worker, skills)
  local line = own.handed.line
  if byte(line) == WORKER then return sub(line, 2) ~= worker and 'assignees' end
  return not skills[sub(line, 2)] and 'skill'
end

-- Whether a job is kept from no worker who has its skill and had not skipped it.
function routing.is_by_skill(q, id, header)
  local own = route.of(q, id, header)
  return own and own.skill and not (own.excluded or own.assignees or own.handed or own.overlap)
end

-- Whether a worker is excluded; nil for no.
function routing.excludes(own, worker)
  return own.excluded and (worker == '' or has(own.excluded, worker))
end

-- Whether a job was handed over to a worker who is excluded.
function routing.excludes_receiver(own)
  local line = own.handed and own.handed.line
  return line and byte(line) == WORKER and own.excluded and has(own.excluded, sub(line, 2))
end

-- Whether each of some names is excluded; false for none of them.
function routing.excludes_all(own, names)
  if not own.excluded then return false end
  for _, name in ipairs(names) do
    if not has(own.excluded, name) then return false end
  end
  return #names > 0
end

-- The rule that keeps a worker from a job; false or nil for none. `skills` holds each of the worker's.
function routing.rule(q, id, header, worker, skills)
  local own = route.of(q, id, header)
  if not own then return end
  if routing.excludes(own, worker) then return 'excluded' end
  local is_open = fell_back(own)
  if own.handed then
    local rule = rule_of_hand_over(own, worker, skills)
    if rule then return rule end
  elseif not is_open and own.assignees and not has(own.assignees, worker) then
    return 'assignees'
  end
  if own.skill and not is_open and not skills[own.skill] then return 'skill' end
  return own.overlap and part.keeps_from(q, id, header, worker) and 'overlap'
end

-- Whether the job is for some workers only, by its own rule. Only such a job falls back.
function routing.is_for_some(own)
  return own.assignees or own.skill
end

-- The job is ready since then, perhaps for the first time: its fallback counts from that.
function routing.ready(q, id, header, since)
  local own = route.of(q, id, header)
  if not own or not own.fallback or own.fallback_at or not routing.is_for_some(own) then return end
  own.fallback_at = since + own.fallback
  route.keep(q, id, own)
  alarm.set(q, id, own)
end

-- The rule counts again, from when the job is next ready.
function routing.restart(q, id, own)
  own.fallback_at = nil
  if fell_back(own) then own.marks = own.marks - route.FELL_BACK end
  route.keep(q, id, own)
end

-- The hand-over by which a job is in a line or in hand; nil or false for none.
function routing.handed(q, id, header)
  local own = route.of(q, id, header)
  return own and own.handed
end

-- The job is taken. Returns the hand-over by which it is; nil or false for none.
function routing.take(q, id, header)
  local handed = routing.handed(q, id, header)
  if handed then alarm.set(q, id, route.of(q, id, header), true) end
  return handed
end

-- A reservation ends. A hand-over ends with it, unless the job was never delivered: then its time counts on. Returns who had handed the
-- job over, nil for nobody.
function routing.leave(q, id, header, is_delivered)
  local own = route.of(q, id, header)
  local handed = own and own.handed
  if not handed then return end
  if is_delivered then own.handed = nil end
  route.keep(q, id, own)
  alarm.set(q, id, own, false)
  return is_delivered and handed.from or nil
end

-- An operator ends the hand-over of a job. One that is in hand stays what it is until it is given back.
function routing.call_off_hand_over(q, own, is_held)
  if own.handed and is_held then own.handed.ends = clock.now(q) else own.handed = nil end
end

-- A worker hands the job over, to a line and for so many ms.
function routing.hand_over(q, id, own, line, from, note, ms)
  local now = clock.now(q)
  own.handed = {line = line, since = now, ends = now + ms, from = from, note = note}
  route.keep(q, id, own)
  alarm.set(q, id, own)
end

local function is_hand_over_due(q, own, is_held)
  return own.handed and not is_held and own.handed.ends <= clock.now(q)
end

local function is_fallback_due(q, own)
  return own.fallback_at and own.fallback_at <= clock.now(q) and not fell_back(own)
end

-- Whether the time of a hand-over or of the rule is over. That of a hand-over is not while the job is in hand.
function routing.is_due(q, own, is_held)
  return is_hand_over_due(q, own, is_held) or is_fallback_due(q, own)
end

-- Ends what is over.
function routing.fall_back(q, id, own, is_held)
  if is_hand_over_due(q, own, is_held) then own.handed = nil end
  if is_fallback_due(q, own) then own.marks = own.marks + route.FELL_BACK end
  route.keep(q, id, own)
end

return routing
