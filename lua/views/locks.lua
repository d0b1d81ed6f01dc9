-- locks: the holders of locks by deadline, a part of a page at a time; or the holder of one lock.   reads only
-- FLAGS  no-writes
-- KEYS   reserved zset · parked zset · jobs hash · live hash · gates hash
-- ARGV   lock ('' = all), limit, deadline and id of the job seen last ('' = from the start)
-- REPLY  {now ms, next deadline ('' = the end), next id, {lock, id, live record, deadline ms, parked there} …}
local record = require 'base/record'
local clock = require 'base/clock'
local write = require 'base/write'
local page = require 'jobs/page'
local LOOK, HEAD = $PAGE_ENTRIES, 3

local function show(q, answer, name, id, live, deadline)
  local waits = write.ask(q, 'ZLEXCOUNT', q.parked, '[' .. name .. '\0', '(' .. name .. '\1')
  answer[#answer + 1] = {name, id, live, tonumber(deadline), waits}
end

local function show_one(q, answer, name)
  local id = redis.call('HGET', q.gates, name)
  local live = id and redis.call('HGET', q.live, id)
  local deadline = live and redis.call('ZSCORE', q.reserved, id)
  if deadline then show(q, answer, name, id, live, deadline) end
  return answer
end

return function(q, args)
  local limit, answer, ids = tonumber(args[2]), {clock.now(q), '', ''}, {}
  if args[1] ~= '' then return show_one(q, answer, args[1]) end

  local from = page.rank_after(q.reserved, args[3], args[4])
  local entries = redis.call('ZRANGE', q.reserved, from, from + LOOK - 1, 'WITHSCORES')
  if #entries == 0 then return answer end
  for i = 1, #entries, 2 do ids[#ids + 1] = entries[i] end
  local headers, lives = redis.call('HMGET', q.jobs, unpack(ids)), redis.call('HMGET', q.live, unpack(ids))
  for i, id in ipairs(ids) do
    local own = headers[i] and lives[i] and record.header(headers[i]).locks or {}
    for _, name in ipairs(own) do show(q, answer, name, id, lives[i], entries[i * 2]) end
    -- All locks of a job stand on one page.
    if #answer - HEAD >= limit or write.is_spent(q) or i == LOOK then
      if i < #ids or #ids == LOOK then answer[2], answer[3] = entries[i * 2], id end
      return answer
    end
  end
  return answer
end
