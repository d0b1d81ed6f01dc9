-- events_and_totals: what the plain paths write beside their jobs: the queue's totals, its stream of events, and the hint.
local clock = require 'base/clock'
local event = require 'base/event'
local hint = require 'base/hint'
local text = require 'base/text'
local events_and_totals = {}
local call, concat, sub, max, tonumber = redis.call, table.concat, string.sub, math.max, tonumber

-- How the queue's own clock and a total stand: the stamp before the next that it gives, and how many there were. And whether
-- there are any of what may be unusual, if that is asked.
function events_and_totals.read(q, what, now, odd)
  local kept = odd and call('HMGET', q.totals, 'stamp', what, odd) or call('HMGET', q.totals, 'stamp', what)
  return max(tonumber(kept[1] or 0), now * clock.PER_MS - 1), tonumber(kept[2] or 0), (kept[3] or '0') ~= '0'
end

function events_and_totals.write(q, what, last, count)
  call('HSET', q.totals, 'stamp', text.of(last), what, text.of(count))
end

-- So many events of one kind. `tale` begins with its head, and has of each the job's id, and then the rest and the head of
-- the next.
function events_and_totals.tell(q, tale, n, ready)
  local last = n * 2 + 1
  tale[last] = sub(tale[last], 1, -1 - #tale[1])
  event.publish(q, n, concat(tale, '', 1, last))
  hint.publish(q, ready)
end

return events_and_totals
