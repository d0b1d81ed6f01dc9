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
if #members == 0 then return reply end
local ids = {}
for i, member in ipairs(members) do ids[i] = member:sub(-26) end
local records, deadlines = redis.call('HMGET', live, unpack(ids)), redis.call('ZMSCORE', reserved, unpack(ids))
for i, id in ipairs(ids) do
  if records[i] and deadlines[i] then reply[#reply + 1] = {id, records[i], tonumber(deadlines[i])} end
end
return reply
