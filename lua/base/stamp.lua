-- stamp: the queue's own clock, 64 to a ms. It gives a number to each arrival and each ending, and only ever grows: when
-- Redis's clock steps back, or more comes than a ms has room for, it goes on from the last one given.
local clock = require 'base/clock'
local total = require 'base/total'
local stamp = {}

function stamp.last(q)
  q.stamp = q.stamp or tonumber(redis.call('HGET', q.totals, 'stamp') or 0)
  return q.stamp
end

-- The first of so many, one after the other.
function stamp.take(q, n)
  local last = stamp.last(q)
  local first = math.max(last + 1, clock.now(q) * clock.PER_MS)
  q.stamp = first + n - 1
  total.count(q, 'stamp', q.stamp - last)
  return first
end

function stamp.new(q)
  return stamp.take(q, 1)
end

return stamp
