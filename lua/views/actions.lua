-- actions: a page of what operators did, newest first.   reads only
-- FLAGS  no-writes
-- KEYS   actions hash
-- ARGV   limit, number of the entry seen last ('' = from the newest)
-- REPLY  {there are older ones (0 | 1), {number, entry} …}
local text = require 'base/text'

return function(q, args)
  local limit, newest = tonumber(args[1]), tonumber(redis.call('HGET', q.actions, 'last') or 0)
  if args[2] ~= '' then newest = math.min(newest, tonumber(args[2]) - 1) end
  if newest < 1 then return {0} end
  local numbers = {}
  for number = newest, math.max(newest - limit, 1), -1 do numbers[#numbers + 1] = text.of(number) end
  local found = redis.call('HMGET', q.actions, unpack(numbers))
  local page = {#numbers > limit and found[limit + 1] and 1 or 0}
  for i = 1, math.min(#numbers, limit) do
    if found[i] then page[#page + 1] = {numbers[i], found[i]} end
  end
  return page
end
