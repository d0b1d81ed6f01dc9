-- erase: removes lines or days of the day sheets, unless another instance has changed them since they were read.
-- FLAGS  allow-oom
-- KEYS   cursors hash · sheets hash
-- ARGV   the cursor's record as it was read, its new record; per field 2: name, value ('' = none)
-- REPLY  {'changed'} | {'moved'}
local sheet = require 'base/sheet'
local FIRST, STRIDE = 3, 2

return function(q, args)
  return {sheet.change(q, args, FIRST, STRIDE) and 'changed' or 'moved'}
end
