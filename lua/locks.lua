-- locks: who holds which lock, by deadline, a part of a page at a time; or who holds a certain one.   reads only
-- FLAGS  no-writes
-- USES   clock write record
-- KEYS   reserved zset · parked zset · jobs hash · live hash · gates hash
-- ARGV   lock ('' = all), limit, deadline and id of the job seen last ('' = from the start)
-- REPLY  {now ms, next deadline ('' = the end), next id, {lock, id, live record, deadline ms, parked there} …}
local LOOK = 200
local lock, limit, after_score, after_id = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local page = {now, '', ''}

local function show(name, id, raw, deadline)
  local waits = ask('ZLEXCOUNT', parked, '[' .. name .. '\0', '(' .. name .. '\1')
  page[#page + 1] = {name, id, raw, deadline, waits}
end

if lock ~= '' then
  local id = redis.call('HGET', gates, lock)
  local raw, deadline = id and redis.call('HGET', live, id), id and redis.call('ZSCORE', reserved, id)
  if raw and deadline then show(lock, id, raw, tonumber(deadline)) end
  return page
end

local from = 0
if after_score ~= '' then
  local rank = redis.call('ZSCORE', reserved, after_id) == after_score and redis.call('ZRANK', reserved, after_id)
  from = rank and rank + 1 or redis.call('ZCOUNT', reserved, '-inf', '(' .. after_score)
end
local entries = redis.call('ZRANGE', reserved, from, from + LOOK - 1, 'WITHSCORES')
if #entries == 0 then return page end
local ids = {}
for i = 1, #entries, 2 do ids[#ids + 1] = entries[i] end
local headers, records = redis.call('HMGET', jobs, unpack(ids)), redis.call('HMGET', live, unpack(ids))
for i, id in ipairs(ids) do
  local own = headers[i] and records[i] and read_header(headers[i]).locks or {}
  for _, name in ipairs(own) do show(name, id, records[i], tonumber(entries[i * 2])) end
  -- All locks of a job stand on one page.
  if #page - 3 >= limit or is_spent() or i == LOOK then
    if i < #ids or #ids == LOOK then page[2], page[3] = entries[i * 2], id end
    return page
  end
end
return page
