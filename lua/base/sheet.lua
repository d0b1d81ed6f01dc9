-- sheet: the day sheets of a queue, which a tally makes of its events. They are kept while the tally has a cursor.
local clock = require 'base/clock'
local text = require 'base/text'
local outbox = require 'base/outbox'
local sheet = {}
local call = redis.call

-- After all events of a ms.
local LAST_OF_MS = '-18446744073709551615-$WHOLE_ENTRY'

-- Counting begins with this ms. Without the setting nothing is kept.
function sheet.switch(q, is_on)
  if is_on then
    if call('HEXISTS', q.cursors, outbox.TALLY) == 1 then return end
    outbox.write(q, {field = outbox.TALLY, position = text.of(clock.now(q) - 1) .. LAST_OF_MS, slot = 0, lost = 0})
  else
    call('HDEL', q.cursors, outbox.TALLY)
    call('UNLINK', q.sheets)
  end
end

-- Changes fields, unless the cursor is another than it was read. Returns whether it did. `args`: the cursor's record, its new one; from
-- `first` on, with this stride: a field, its value ('' = none).
function sheet.change(q, args, first, stride)
  if call('HGET', q.cursors, outbox.TALLY) ~= args[1] then return false end
  local kept, gone = {}, {}
  for i = first, #args, stride do
    if args[i + 1] == '' then
      gone[#gone + 1] = args[i]
    else
      kept[#kept + 1], kept[#kept + 2] = args[i], args[i + 1]
    end
  end
  if #kept > 0 then call('HSET', q.sheets, unpack(kept)) end
  if #gone > 0 then call('HDEL', q.sheets, unpack(gone)) end
  call('HSET', q.cursors, outbox.TALLY, args[2])
  return true
end

return sheet
