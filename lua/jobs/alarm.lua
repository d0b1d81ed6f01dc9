-- alarm: when time next does something to a job that has not ended: its expiry, the end of its SLA, its fallback to everybody, or the
-- end of a hand-over. The sweep works these off.
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local write = require 'base/write'
local event = require 'base/event'
local total = require 'base/total'
local route = require 'jobs/route'
local alarm = {}
local huge, min = math.huge, math.min
local NEVER = $LAST_TIME

-- Its SLA is over, and no event has said so yet. An SLA that ends at the expiry or later is never breached.
local function is_breached(q, own)
  return own.sla and own.sla <= clock.now(q) and not route.is_marked(own, route.BREACHED)
    and own.sla < (own.expires or huge)
end

local function write_alarms(q)
  for id, at in pairs(q.alarm) do
    if at < huge then write.add(q, 'alarms', text.of(at), id) else write.remove(q, 'alarms', id) end
  end
  q.alarm = {}
end

-- The latest alarm of a job counts.
local function put(q, id, at)
  if not q.alarm then
    q.alarm = {}
    write.at_flush(q, write_alarms)
  end
  q.alarm[id] = at
end

-- Sets it by the route of a job that has not ended. A hand-over does not end while the job is in hand; its alarm stays, at
-- a time that never comes: older versions of the program may share this Redis, and complete a job without an alarm as if it had no hand-over.
function alarm.set(q, id, own, is_held)
  local sla = not route.is_marked(own, route.BREACHED) and own.sla or huge
  local fallback = not route.is_marked(own, route.FELL_BACK) and own.fallback_at or huge
  local handed = own.handed and (is_held and NEVER or own.handed.ends) or huge
  put(q, id, min(own.expires or huge, sla, fallback, handed))
end

-- Reports once that the SLA of a job is over. Returns whether it is.
function alarm.breach(q, id, own, header)
  if not is_breached(q, own) then return false end
  route.mark(q, id, own, route.BREACHED)
  event.add(q, 'sla-breached', id, '', header, '')
  total.count(q, 'breached')
  return true
end

-- A new job has this route.
function alarm.start(q, id, header, asked)
  if not record.is_routed(header) then return end
  local own = route.new(q, id, asked)
  if own.expires or own.sla then alarm.set(q, id, own) end
end

-- The job lives again.
function alarm.restart(q, id, header)
  local own = route.of(q, id, header)
  if own then alarm.set(q, id, own) end
end

-- The job ends in this call, from this state. A dead job has ended before.
function alarm.stop(q, id, header, state)
  local own = route.of(q, id, header)
  if not own then return end
  if state ~= record.DEAD then alarm.breach(q, id, own, header) end
  if own.expires or own.sla or own.fallback_at or own.handed then put(q, id, huge) end
  if own.handed then
    own.handed = nil
    route.keep(q, id, own)
  end
end

return alarm
