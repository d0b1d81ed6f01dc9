-- commit: the end of a call that changes jobs. What was decided is written, told and counted; the answer says so.
local write = require 'base/write'
local event = require 'base/event'
local hint = require 'base/hint'
local total = require 'base/total'

-- `answer` is what the caller is told, or makes it of what was written.
return function(q, answer)
  write.all(q)
  if event.write(q) or q.ready > 0 then hint.publish(q, q.ready) end
  total.write(q)
  return total.counted(q, type(answer) == 'function' and answer() or answer)
end
