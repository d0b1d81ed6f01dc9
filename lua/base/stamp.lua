-- stamp: the queue's own clock, 64 stamps per ms, which numbers each arrival and each ending. It only grows: when Redis's clock
-- steps back, or a ms has no stamp left, it continues from the last one.
local clock = require 'base/clock'
local total = require 'base/total'
local stamp = {}
local call, max, tonumber = redis.call, math.max, tonumber

function stamp.last(q)
  q.stamp = q.stamp or tonumber(call('HGET', q.totals, 'stamp') or 0)
  return q.stamp
end

-- Takes `n` consecutive stamps and returns the first.
function stamp.take(q, n)
  local last = q.stamp or stamp.last(q)
  local first = max(last + 1, clock.now(q) * clock.PER_MS)
  q.stamp = first + n - 1
  total.count(q, 'stamp', q.stamp - last)
  return first
end

function stamp.new(q)
  return stamp.take(q, 1)
end

return stamp
