-- lines: where a waiting job stands: in `inbound`, or, if it is not for everybody, in `restricted` and in a line for each worker or
-- skill that it is for. In `restricted` it is never parked: at a full gate it is passed over.
local write = require 'base/write'
local hint = require 'base/hint'
local place = require 'jobs/place'
local parking = require 'jobs/parking'
local routing = require 'jobs/routing'
local lines = {MARK = 'routed'}
local format, sub = string.format, string.sub

-- The member of a job in `lines`; what follows the line sorts as the place does.
function lines.member(line, score, member)
  return line .. '\0' .. format('%016x', score) .. '\0' .. member
end

-- The place and the member in `restricted` of a member of a line.
function lines.place_of(line, member)
  return tonumber(sub(member, #line + 2, #line + 17), 16), sub(member, #line + 19)
end

local function set_scores(q, r, member, own, is_there)
  parking.set_score(q, 'restricted', member, is_there and r.score)
  for _, line in ipairs(own) do parking.set_score(q, 'lines', lines.member(line, r.score, member), is_there and 0) end
end

-- A job is ready and waits in these lines, nil for everybody's: it is announced to those who may have it.
function lines.announce(q, own)
  if not own then return hint.became_ready(q, 1) end
  for _, line in ipairs(own) do hint.line_ready(q, line, 1) end
end

-- Returns the lines of the job; nil for everybody's.
function lines.enter(q, id, r, header)
  local own, member = routing.lines(q, id, header), place.member(id, r.arrival)
  if not own then return parking.set_score(q, 'inbound', member, r.score) end
  set_scores(q, r, member, own, true)
  -- Says to a reserve that there are lines.
  if q.has_restricted ~= 1 then write.set(q, 'settings', lines.MARK, '1') end
  q.has_restricted = 1
  return own
end

-- Takes that back once no job is restricted.
function lines.unmark(q)
  if redis.call('EXISTS', q.restricted) == 0 then redis.call('HDEL', q.settings, lines.MARK) end
end

function lines.leave(q, id, r, header)
  local own, member = routing.lines(q, id, header), place.member(id, r.arrival)
  if not own then return parking.set_score(q, 'inbound', member, false) end
  set_scores(q, r, member, own, false)
  local left = q.left
  if not left then return end
  for _, line in ipairs(own) do left[line] = (left[line] or 0) + 1 end
end

-- Gates have room: those who passed over a job that needs one of them try again.
function lines.gates_opened(q, names)
  if not q.has_restricted then q.has_restricted = write.ask(q, 'EXISTS', q.restricted) end
  if q.has_restricted == 0 then return end
  for _, name in ipairs(names) do hint.gate(q, name) end
end

return lines
