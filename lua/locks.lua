-- locks: who holds which lock, by deadline, a page at a time; or who holds a certain one.   reads only
-- FLAGS  no-writes
-- USES   clock write record
-- KEYS   reserved zset · parked zset · jobs hash · live hash · gates hash
-- ARGV   lock ('' = all), limit, deadline and id of the job seen last ('' = from the start)
-- REPLY  {now ms, next deadline ('' = the end), next id, {lock, id, live record, deadline ms, parked there} …}
local LOOK = 1000
local lock, limit, after_score, after_id = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local page = {now, '', ''}

local function show(name, id, raw, deadline)
  local waits = redis.call('ZLEXCOUNT', parked, '[' .. name .. '\0', '(' .. name .. '\1')
  page[#page + 1] = {name, id, raw, deadline, waits}
end

if lock ~= '' then
  local id = redis.call('HGET', gates, lock)
  if id then show(lock, id, redis.call('HGET', live, id), tonumber(redis.call('ZSCORE', reserved, id))) end
  return page
end

local from = 0
if after_score ~= '' then
  local rank = redis.call('ZSCORE', reserved, after_id) == after_score and redis.call('ZRANK', reserved, after_id)
  from = rank and rank + 1 or redis.call('ZCOUNT', reserved, '-inf', '(' .. after_score)
end
local entries = redis.call('ZRANGE', reserved, from, from + LOOK - 1, 'WITHSCORES')
for i = 1, #entries, 2 do
  local id, deadline = entries[i], entries[i + 1]
  local own = read_header(redis.call('HGET', jobs, id)).locks or {}
  local raw = #own > 0 and redis.call('HGET', live, id)
  for _, name in ipairs(own) do show(name, id, raw, tonumber(deadline)) end
  -- All locks of a job stand on one page.
  local full = #page - 3 >= limit
  if full or i + 1 == LOOK * 2 then
    if i + 1 < #entries or #entries == LOOK * 2 then page[2], page[3] = deadline, id end
    return page
  end
end
return page
