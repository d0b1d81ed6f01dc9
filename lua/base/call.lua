-- call: the state of a call, `q`: the names of the queue's keys, and what the modules add to them. A library of functions keeps the
-- table of each queue between calls, because the keys stay the same; `open` resets it for every call.
local call = {}
local MAX_KEPT = 1000
local kept, count = {}, 0

-- The table of an entry point for a queue, found by its first key; nil for none.
function call.find(entry, first)
  local of_entry = kept[entry]
  return of_entry and of_entry[first]
end

function call.keep(entry, first, q)
  if count == MAX_KEPT then kept, count = {}, 0 end
  kept[entry] = kept[entry] or {}
  kept[entry][first], count = q, count + 1
  return q
end

-- Resets the state.
function call.open(q)
  q.calls, q.event_count, q.ready, q.kinds, q.sums, q.event_buffer = 0, 0, 0, {}, {}, q.event_buffer or {}
  if not q.adds or next(q.adds) then q.adds = {} end
  if not q.drops or next(q.drops) then q.drops = {} end
  if not q.flush_hooks or q.flush_hooks[1] then q.flush_hooks = {} end
  if not q.commit_hooks or q.commit_hooks[1] then q.commit_hooks = {} end
  -- false and not nil: removing and adding a field makes Lua rehash the table.
  q.now, q.stamp, q.loaded, q.put_back = false, false, false, false
  q.order, q.batch, q.gate, q.parking, q.freed = false, false, false, false, false
  q.line, q.context, q.handout, q.served, q.new_results, q.by = false, false, false, false, false, false
  q.max_hold, q.max_attempts, q.backoff, q.route, q.routed = false, false, false, false, false
  q.line_hints, q.gate_hints, q.alarm, q.has_restricted, q.parts, q.left = false, false, false, false, false, false
  q.opinions = false
  return q
end

-- Lets go of what may be large, which the table would otherwise hold until the queue's next call.
function call.close(q)
  q.line, q.loaded, q.handout, q.served, q.new_results = false, false, false, false, false
  q.order, q.batch, q.freed, q.route, q.parts, q.opinions = false, false, false, false, false, false
end

return call
