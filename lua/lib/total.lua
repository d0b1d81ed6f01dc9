-- total: monotonic totals, and how many cancelled jobs and stubs are kept now.
-- KEYS   totals hash
local sums = {}

local function total(name, by)
  sums[name] = (sums[name] or 0) + (by or 1)
end

local function write_totals()
  for name, by in pairs(sums) do redis.call('HINCRBY', totals, name, by) end
end
