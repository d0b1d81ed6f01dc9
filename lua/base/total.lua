-- total: monotonic totals, the number of cancelled jobs and aliases kept now, and what this call added.
local text = require 'base/text'
local total = {}
local call = redis.call

function total.count(q, name, by)
  q.sums[name] = (q.sums[name] or 0) + (by or 1)
end

function total.write(q)
  for name, by in pairs(q.sums) do call('HINCRBY', q.totals, name, text.of(by)) end
end

-- The reply, with what this call counted around it: totals, and events that have no total.
function total.counted(q, answer)
  local counts = {'counted', answer}
  for name, by in pairs(q.sums) do counts[#counts + 1], counts[#counts + 2] = name, by end
  for kind, times in pairs(q.kinds) do
    if not q.sums[kind] then counts[#counts + 1], counts[#counts + 2] = kind, times end
  end
  return #counts > 2 and counts or answer
end

return total
