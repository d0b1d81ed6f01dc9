-- results: the results of a batch, in the order of its jobs, a page at a time.   reads only
-- FLAGS  no-writes
-- USES   clock record event batch
-- KEYS   live hash · results hash
-- ARGV   batch, index to begin with, limit
-- REPLY  {'results', index to go on with (-1 = the end), {state, result ('' = none), live record ('' = not
-- REPLY  completed)} …} | {'unknown'}
local code, from, limit = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local b = read_batch(code)
if not b or b.stage == MAKING or b.stage == REMOVING then return {'unknown'} end
local members = {}
for index = from, math.min(from + limit, b.total) - 1 do members[#members + 1] = member_id(code, index) end
if #members == 0 then return {'results', -1} end

local records, bytes, page = redis.call('HMGET', live, unpack(members)), 0, {'results', -1}
for i, id in ipairs(members) do
  local state = records[i] and read_live(records[i]).state or WAITING
  local result = state == COMPLETED and redis.call('HGET', results, id) or ''
  local record = state == COMPLETED and records[i] or ''
  bytes = bytes + #result + #record
  if i > 1 and bytes > $RESERVE_BYTES then
    page[2] = from + i - 1
    return page
  end
  page[#page + 1] = {STATES[state], result, record}
end
if from + #members < b.total then page[2] = from + #members end
return page
