-- stamp: the queue's own clock, 64 to a ms. It gives a number to each arrival and each ending, and only ever grows: when
-- Redis's clock steps back, or more comes than a ms has room for, it goes on from the last one given.
-- USES   clock total
-- KEYS   totals hash
local stamp_given

local function last_stamp()
  stamp_given = stamp_given or tonumber(redis.call('HGET', totals, 'stamp') or 0)
  return stamp_given
end

local function new_stamp()
  local last = last_stamp()
  stamp_given = math.max(last + 1, now * PER_MS)
  total('stamp', stamp_given - last)
  return stamp_given
end
