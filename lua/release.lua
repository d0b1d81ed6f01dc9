-- release: an operator takes jobs from their holder; it is not an attempt.   reserved -> waiting | blocked
-- FLAGS  allow-oom
-- USES   clock write record batch gate leave dedupe ending back event total commit
-- KEYS   reserved zset · held zset · jobs hash · live hash
-- ARGV   'job' id | 'worker' name
-- REPLY  {'released', n, more (0 | 1)} | {'unknown'}
local MOST = 200
local ids = {ARGV[2]}

if ARGV[1] == 'worker' then
  ids = redis.call('ZRANGEBYLEX', held, '[' .. ARGV[2] .. '\0', '(' .. ARGV[2] .. '\1', 'LIMIT', 0, MOST)
  for i, member in ipairs(ids) do ids[i] = member:sub(-26) end
  if #ids == 0 then return {'released', 0, 0} end
end
local records, headers = redis.call('HMGET', live, unpack(ids)), redis.call('HMGET', jobs, unpack(ids))
if not headers[1] or is_stub(read_header(headers[1])) then return {'unknown'} end

local released = 0

local function release(id, r, hold, header)
  r.released = r.released + 1
  leave(id, r, hold, RELEASED, header)
  event('released', id, hold.worker, header, '')
  back_to_line(id, r, header)
  total('released')
  released = released + 1
end

for i, id in ipairs(ids) do
  local r = records[i] and read_live(records[i])
  if r and r.hold ~= '' then
    local hold, header = read_hold(r.hold), read_header(headers[i])
    -- Past its deadline nobody holds it any more, swept or not.
    local overdue = now >= tonumber(redis.call('ZSCORE', reserved, id))
    if overdue then expire(id, r, hold, header) else release(id, r, hold, header) end
  end
end

commit()
return counted({'released', released, #ids >= MOST and 1 or 0})
