-- holders: who holds what, by worker.   reads only
-- FLAGS  no-writes
-- USES   clock record
-- KEYS   reserved zset · held zset · live hash
-- ARGV   worker ('' = everybody), member of `held` seen last ('' = from the start), limit
-- REPLY  {now ms, member seen last ('' = the end), {id, live record, deadline ms} …}
local worker, after, limit = ARGV[1], ARGV[2], tonumber(ARGV[3])
local from, to = '-', '+'
if worker ~= '' then from, to = '[' .. worker .. '\0', '(' .. worker .. '\1' end
if after ~= '' then from = '(' .. after end

local members = redis.call('ZRANGEBYLEX', held, from, to, 'LIMIT', 0, limit)
local reply = {now, #members >= limit and members[#members] or ''}
for _, member in ipairs(members) do
  local id = member:sub(-26)
  reply[#reply + 1] = {id, redis.call('HGET', live, id), tonumber(redis.call('ZSCORE', reserved, id))}
end
return reply
