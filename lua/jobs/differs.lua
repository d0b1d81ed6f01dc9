-- differs: what an enqueue asks for that the equal job, which is answered instead, does not have.
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local write = require 'base/write'
local route_codec = require 'base/route_codec'
local route = require 'jobs/route'
local store = require 'jobs/store'
local differs = {}
local FIELDS = $DIFFERS
-- Two times that are counted from two calls are the same if they are as long, to a second.
local NEAR = 1000
local NAMES = {'assignees', 'excluded'}
local abs, concat = math.abs, table.concat

-- A list of names without its order.
local function set_of(names)
  table.sort(names)
  return concat(names, '\0')
end

-- A time as such, and counted from its call.
local function compare_times(found, at, ms, asked, kept, since, now)
  if not asked or not kept then
    found[at], found[ms] = asked ~= kept, asked ~= kept
  else
    found[at], found[ms] = asked ~= kept, abs((asked - now) - (kept - since)) > NEAR
  end
end

-- The payload of a job, which may be in a field of its own.
local function payload_of(external, header)
  return external ~= '' and external or header.raw:sub(header.stop)
end

local function is_other_payload(q, job, twin)
  local external = twin.external or record.is_external(twin.header) and write.ask(q, 'HGET', q.payloads, twin.id) or ''
  return payload_of(job.external, job.header) ~= payload_of(external, twin.header)
end

local function compare_records(found, asked, header, priority)
  found.priority = asked.priority ~= priority
  found.locks = set_of(asked.locks or {}) ~= set_of(header.locks or {})
  found.lease_ms, found.max_attempts = asked.lease_ms ~= header.lease_ms, asked.max_attempts ~= header.max_attempts
  found.backoff = asked.backoff ~= header.backoff or asked.backoff_delay ~= header.backoff_delay
    or asked.backoff_max ~= header.backoff_max
end

local function compare_routes(found, asked, own, since, now)
  for _, name in ipairs(NAMES) do found[name] = set_of(text.names(asked[name] or '')) ~= set_of(text.names(own[name] or '')) end
  found.skill = asked.skill ~= own.skill
  found.fallback_ms = asked.fallback ~= own.fallback
  compare_times(found, 'expires_at', 'expires_ms', asked.expires, own.expires, since, now)
  compare_times(found, 'sla_at', 'sla_ms', asked.sla, own.sla, since, now)
end

-- `job` as store.new makes it; `twin`: {id, header, priority, due: when the delay of its enqueue is over, nil for none, had_delay:
-- it may have had one before, so a delay is not compared, external: as that of
-- a job of this call, else nil}. Returns a bit for each field.
function differs.of(q, job, twin)
  local found, header, now = {}, twin.header, clock.now(q)
  local since, due = clock.ms_of(header.stamp), store.due(q, job)
  compare_records(found, job.header, header, twin.priority)
  if not twin.had_delay then compare_times(found, 'run_at', 'delay_ms', due > now and due or nil, twin.due, since, now) end
  local asked, own = route.apply(q, route_codec.decode(''), job.asked), route.of(q, twin.id, header) or route_codec.decode('')
  compare_routes(found, asked, own, since, now)
  found.payload = job.by_key and is_other_payload(q, job, twin)
  local bits = 0
  for i, name in ipairs(FIELDS) do bits = bits + (found[name] and 2 ^ (i - 1) or 0) end
  return bits
end

return differs
