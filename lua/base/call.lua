-- call: what a call begins with. All of its state is in `q`: the names of the queue's keys, and what the modules put beside
-- them; nothing else of a call stays in a module. Where functions are kept, so is the table of each queue, as its keys stay
-- the same: it is opened anew for every call.
local call = {}
local MOST_KEPT = 1000
local kept, count = {}, 0

-- The table that an entry has for a queue, which its first key names; nil for none.
function call.find(entry, first)
  local of_entry = kept[entry]
  return of_entry and of_entry[first]
end

function call.keep(entry, first, q)
  if count == MOST_KEPT then kept, count = {}, 0 end
  kept[entry] = kept[entry] or {}
  kept[entry][first], count = q, count + 1
  return q
end

-- Nothing is known, said or decided yet.
function call.open(q)
  q.calls, q.told, q.ready, q.kinds, q.sums, q.tale = 0, 0, 0, {}, {}, q.tale or {}
  if not q.adds or next(q.adds) then q.adds = {} end
  if not q.drops or next(q.drops) then q.drops = {} end
  if not q.gathered or q.gathered[1] then q.gathered = {} end
  if not q.at_end or q.at_end[1] then q.at_end = {} end
  -- Not nil: a field that comes and goes makes its table anew.
  q.now, q.stamp, q.known, q.put_back = false, false, false, false
  q.order, q.batch, q.gate, q.parking, q.freed = false, false, false, false, false
  q.line, q.desk, q.hand, q.served, q.said, q.by = false, false, false, false, false, false
  q.max_hold, q.max_attempts, q.backoff = false, false, false
  return q
end

return call
