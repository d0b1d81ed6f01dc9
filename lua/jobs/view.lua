-- view: everything about a job, read only.
local record = require 'base/record'
local text = require 'base/text'
local write = require 'base/write'
local place = require 'jobs/place'
local route = require 'jobs/route'
local view = {}
local COMPLETED, CANCELLED = record.COMPLETED, record.CANCELLED

-- The number of payloads and results that showing a job reads.
function view.bodies_of(header, r)
  return (record.is_external(header) and 1 or 0) + (r.state == COMPLETED and 1 or 0) + math.min(r.late, $LATE_RESULTS)
end

-- {id, record, payload, live record, result, score in its set, route, late results …}; '' where there is none. `raw` is the
-- live record as it is kept, '' when there is none.
function view.show(q, id, header, r, raw, at)
  local shown = {
    id, header.raw, record.is_external(header) and write.ask(q, 'HGET', q.payloads, id) or '', raw, '', at or '',
    route.raw(q, id, header),
  }
  local kept, fields = math.min(r.late, $LATE_RESULTS), {id}
  for n = r.late - kept, r.late - 1 do fields[#fields + 1] = id .. '\0' .. n % $LATE_RESULTS end
  if r.state ~= COMPLETED and kept == 0 then return shown end
  for i, body in ipairs(write.ask(q, 'HMGET', q.results, unpack(fields))) do
    if i == 1 then shown[5] = body or '' elseif body then shown[#shown + 1] = body end
  end
  return shown
end

-- The time that a job's set or, for an ended job of a batch, its live record holds.
local function score_of(q, id, r)
  local set = ({q.inbound, nil, q.delayed, q.reserved, q.ended, q.dead, q.ended})[r.state]
  local member = set == q.inbound and place.member(id, r.arrival) or id
  local at = set and redis.call('ZSCORE', set, member)
  if not at and set == q.inbound then at = redis.call('ZSCORE', q.restricted, member) end
  if not at and (r.state == COMPLETED or r.state == CANCELLED) then at = text.of(r.score) end
  return at
end

-- Nil for no job.
function view.job(q, id)
  local raw = redis.call('HGET', q.jobs, id)
  local header = raw and record.header(raw)
  if not header or record.is_alias(header) then return end
  local live = redis.call('HGET', q.live, id) or ''
  local r = live ~= '' and record.live(live) or record.new(record.WAITING, -1, header.priority, header.stamp)
  return view.show(q, id, header, r, live, score_of(q, id, r))
end

return view
