-- commit: ends a call that changes jobs: writes the decisions, the events, the hint and the totals, and adds the counts to the reply.
local write = require 'base/write'
local event = require 'base/event'
local hint = require 'base/hint'
local total = require 'base/total'

-- `answer` is the reply, or a function that makes it after the writes.
return function(q, answer)
  write.commit(q)
  if event.write(q) or q.ready > 0 then hint.publish(q, q.ready) end
  if hint.is_for_some(q) then hint.publish_lines(q) end
  total.write(q)
  return total.counted(q, type(answer) == 'function' and answer() or answer)
end
