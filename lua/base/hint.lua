-- hint: wakes waiting reserves and event streams by a PUBLISH. Waiters look at the state again, so a lost or extra hint does no
-- harm. An ACL may forbid the channel: waiters then rely on their safety tick, and the writes of the call stand.
local text = require 'base/text'
local hint = {}
local sub = string.sub
local MANY_GATES = 100

function hint.became_ready(q, n)
  q.ready = q.ready + n
end

-- `n` more jobs wait in a line, '@name' or '+skill'.
function hint.line_ready(q, line, n)
  local lines = q.line_hints or {}
  q.line_hints = lines
  if not lines[line] then lines[#lines + 1] = line end
  lines[line] = (lines[line] or 0) + n
end

-- The mark of a gate: what it is called in hints, and among the gates that held a caller up. Two gates may share one.
function hint.gate_mark(name)
  return sub(redis.sha1hex(name), 1, $GATE_MARK_LEN)
end

-- A gate got room, which jobs that are passed over may need.
function hint.gate(q, name)
  local gates = q.gate_hints or {}
  q.gate_hints = gates
  local mark = hint.gate_mark(name)
  if gates[mark] then return end
  gates[mark], gates[#gates + 1] = true, mark
end

-- Whether the jobs of this call are ready for some workers only: their hint is a message of its own.
function hint.is_for_some(q)
  return q.line_hints or q.gate_hints
end

-- An entry a row: "<n> <line>", "gate <mark>", or "gate" for any. An instance that knows no lines takes a message for a number and drops
-- this one.
local function of_lines(q)
  local lines, rows = q.line_hints or {}, {}
  for i, line in ipairs(lines) do rows[i] = text.of(lines[line]) .. ' ' .. line end
  local gates = q.gate_hints or {}
  if #gates > MANY_GATES then
    rows[#rows + 1] = '$GATE'
  else
    for _, mark in ipairs(gates) do rows[#rows + 1] = '$GATE ' .. mark end
  end
  return table.concat(rows, '\n')
end

function hint.publish(q, ready)
  redis.pcall('PUBLISH', q.hints, text.of(ready))
end

function hint.publish_lines(q)
  redis.pcall('PUBLISH', q.hints, of_lines(q))
end

return hint
