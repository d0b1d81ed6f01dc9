-- first_place: the first place in `inbound` at a priority, of jobs that a hand-out passes over.
local text = require 'base/text'
local write = require 'base/write'
local place = require 'jobs/place'
local order = require 'jobs/order'
local first_place = {}
local SPAN = order.SPAN

-- The place of the first in `inbound` at a priority, and its member.
function first_place.at(q, priority)
  local from, to = text.of(priority * SPAN), '(' .. text.of((priority + 1) * SPAN)
  local first = write.ask(q, 'ZRANGEBYSCORE', q.inbound, from, to, 'WITHSCORES', 'LIMIT', '0', '1')
  return tonumber(first[2]), first[1]
end

-- The first place at a priority before the read part; false for none.
local function first_before(q, l, priority)
  local first = l.firsts[priority]
  if first == nil then
    local at, member = first_place.at(q, priority)
    local begun, arrival = l.begun, at and place.arrival_of(member)
    first = at and (at < begun[1] or at == begun[1] and arrival <= place.arrival_of(begun[2])) and at or false
    l.firsts[priority] = first
  end
  return first
end

-- The first place at a priority among entries of `inbound`, up to one of them.
local function first_among(s, priority, last)
  for at = s.first, last do
    if order.priority_of(s[at].place) == priority then return s[at].place end
  end
end

-- The first place at a priority that the cursor has passed over; nil if the current entry is the first.
function first_place.passed(q, priority)
  local l = q.line
  return l.begun and first_before(q, l, priority) or first_among(l.everybody, priority, l.everybody.cursor - 1)
end

-- The same for a job of another line: everything for everybody at its priority is passed over.
function first_place.for_all(q, priority)
  local l = q.line
  local first = l.begun and first_before(q, l, priority) or first_among(l.everybody, priority, #l.everybody)
  if first or l.everybody.ends then return first end
  write.flush(q)
  return (first_place.at(q, priority))
end

return first_place
