-- total: monotonic totals, and how many cancelled jobs and aliases are kept now; and what of it this very call did.
local text = require 'base/text'
local total = {}
local call = redis.call

function total.count(q, name, by)
  q.sums[name] = (q.sums[name] or 0) + (by or 1)
end

function total.write(q)
  for name, by in pairs(q.sums) do call('HINCRBY', q.totals, name, text.of(by)) end
end

-- An answer, and around it all that was counted on the way: by their totals, and by their events what has none.
function total.counted(q, answer)
  local told = {'counted', answer}
  for name, by in pairs(q.sums) do told[#told + 1], told[#told + 2] = name, by end
  for kind, times in pairs(q.kinds) do
    if not q.sums[kind] then told[#told + 1], told[#told + 2] = kind, times end
  end
  return #told > 2 and told or answer
end

return total
