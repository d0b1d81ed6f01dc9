-- line_set: what stands in one line of `lines`. Its members begin with the line and a NUL, and no line has a control character in it.
-- Each function is one command, which it does not count; `first_lines` makes two for each line.
local text = require 'base/text'
local line_set = {}
local call = redis.call

-- The next members after `last`, or from the front.
function line_set.read(q, line, last, limit)
  local from = last and '(' .. last or '[' .. line .. '\0'
  return call('ZRANGE', q.lines, from, '(' .. line .. '\1', 'BYLEX', 'LIMIT', '0', text.of(limit))
end

-- Whether any job stands in the line of a worker.
function line_set.has_workers(q)
  return call('ZRANGE', q.lines, '[$WORKER_LINE', '($AFTER_WORKERS', 'BYLEX', 'LIMIT', '0', '1')[1] ~= nil
end

-- How many jobs wait there.
function line_set.count(q, line)
  return call('ZLEXCOUNT', q.lines, '[' .. line .. '\0', '(' .. line .. '\1')
end

-- The first lines of a queue, at most `limit`: {line, how many jobs wait in it, its first member} each.
function line_set.first_lines(q, limit)
  local found, from = {}, '-'
  while #found < limit do
    local first = call('ZRANGE', q.lines, from, '+', 'BYLEX', 'LIMIT', '0', '1')[1]
    if not first then break end
    local line = first:sub(1, first:find('\0', 1, true) - 1)
    found[#found + 1], from = {line, line_set.count(q, line), first}, '(' .. line .. '\1'
  end
  return found
end

return line_set
