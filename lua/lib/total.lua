-- total: monotonic totals, and how many cancelled jobs and stubs are kept now; and what of it this very script did.
-- USES   event
-- KEYS   totals hash
local sums = {}

local function total(name, by)
  sums[name] = (sums[name] or 0) + (by or 1)
end

local function write_totals()
  for name, by in pairs(sums) do redis.call('HINCRBY', totals, name, by) end
end

-- An answer, and around it all that was counted on the way: by their totals, and by their events what has none.
local function counted(answer)
  local told = {'counted', answer}
  for name, by in pairs(sums) do told[#told + 1], told[#told + 2] = name, by end
  for kind, times in pairs(kinds) do
    if not sums[kind] then told[#told + 1], told[#told + 2] = kind, times end
  end
  return #told > 2 and told or answer
end
