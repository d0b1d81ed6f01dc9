-- release: an operator takes jobs from their holder; it is not an attempt.   reserved -> waiting | blocked
-- FLAGS  allow-oom
-- USES   clock write record batch gate baton leave dedupe ending back event total commit
-- KEYS   reserved zset · held zset · jobs hash · live hash
-- ARGV   'job' id | 'worker' name
-- REPLY  {'released', n, more (0 | 1)} | {'unknown'}
local MOST = 200
local ids, strays = {ARGV[2]}, begin('ZREM', held)
local members

if ARGV[1] == 'worker' then
  members = redis.call('ZRANGEBYLEX', held, '[' .. ARGV[2] .. '\0', '(' .. ARGV[2] .. '\1', 'LIMIT', 0, MOST)
  ids = {}
  for i, member in ipairs(members) do ids[i] = member:sub(-26) end
  if #ids == 0 then return {'released', 0, 0} end
end
local records, headers = redis.call('HMGET', live, unpack(ids)), redis.call('HMGET', jobs, unpack(ids))
if ARGV[1] == 'job' and (not headers[1] or is_stub(read_header(headers[1]))) then return {'unknown'} end
local deadlines = redis.call('ZMSCORE', reserved, unpack(ids))

local released, more, those = 0, #ids >= MOST, {}

local function release(id, r, hold, header)
  r.released = r.released + 1
  leave(id, r, hold, RELEASED, header)
  event('released', id, hold.worker, header, '')
  back_to_line(id, r, header)
  total('released')
  released = released + 1
end

for i, id in ipairs(ids) do
  local r = records[i] and headers[i] and read_live(records[i])
  those[i] = r and r.hold ~= '' and {id = id, record = r, header = read_header(headers[i])}
end
foresee_gates(those)
for i, id in ipairs(ids) do
  if is_spent() then
    more = true
    break
  end
  local job = those[i]
  if job then
    local hold = read_hold(job.record.hold)
    -- Past its deadline nobody holds it any more, swept or not.
    local overdue = now >= tonumber(deadlines[i] or 0)
    if overdue then expire(id, job.record, hold, job.header) else release(id, job.record, hold, job.header) end
  elseif members then
    add(strays, members[i]) -- nobody holds it
  end
end

commit()
return counted({'released', released, more and 1 or 0})
