-- erase: removes lines or days of the day sheets, unless another instance has changed them since they were read. Lines of a worker
--        only while no event that is not counted yet would bring one back.
-- FLAGS  allow-oom
-- KEYS   events stream · cursors hash · sheets hash
-- ARGV   the cursor's record as it was read, its new record, worker ('' = days, or lines of all); per field 2: name, value ('' = none)
-- REPLY  {'changed'} | {'moved'}
local text = require 'base/text'
local sheet = require 'base/sheet'
local FIRST, STRIDE = 4, 2
local LOOK = 100

-- Does an event after the cursor name the worker? So many events that they are not looked at count as one that does.
local function is_named(q, cursor, worker)
  local entries = redis.call('XRANGE', q.events, '(' .. cursor:match('^%d+%-%d+'), '+', 'COUNT', text.of(LOOK))
  for _, entry in ipairs(entries) do
    if entry[2][2]:find(text.short(worker), 1, true) then return true end
  end
  return #entries >= LOOK
end

return function(q, args)
  if args[3] ~= '' and is_named(q, args[1], args[3]) then return {'moved'} end
  return {sheet.change(q, args, FIRST, STRIDE) and 'changed' or 'moved'}
end
