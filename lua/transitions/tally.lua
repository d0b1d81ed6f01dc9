-- tally: adds events of a queue to its day sheets, and moves the cursor past them. It writes nothing if another instance has moved
--        the cursor meanwhile, so that each event counts once. Refused at `maxmemory`: the events wait in the stream.
-- KEYS   cursors hash · sheets hash
-- ARGV   the cursor's record as it was read, its new record; per field 2: name, value
-- REPLY  {'changed'} | {'moved'}
local sheet = require 'base/sheet'
local FIRST, STRIDE = 3, 2

return function(q, args)
  return {sheet.change(q, args, FIRST, STRIDE) and 'changed' or 'moved'}
end
