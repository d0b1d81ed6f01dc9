-- results: the results of a batch, in the order of its jobs, a part of a page at a time.   reads only
-- FLAGS  no-writes
-- USES   clock record event batch
-- KEYS   live hash · results hash
-- ARGV   batch, index to begin with, limit, bytes of results that the page has already
-- REPLY  {'results', index to go on with (-1 = the end), bytes of the page, full (0 | 1), {state, result ('' = none), live
-- REPLY  record ('' = not completed)} …} | {'unknown'}
local BODIES, CHUNK, BYTES = 100, 10, $RESERVE_BYTES
local code, from, limit, bytes = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

local b = read_batch(code)
if not b or b.stage == MAKING or b.stage == REMOVING then return {'unknown'} end
local members = {}
for index = from, math.min(from + limit, b.total) - 1 do members[#members + 1] = member_id(code, index) end
if #members == 0 then return {'results', -1, bytes, 0} end

local records, page, read, said = redis.call('HMGET', live, unpack(members)), {'results', -1, bytes, 0}, 0, {}

-- A few results at a time: they may be large.
local function read_on(first)
  local ids = {}
  for i = first, #members do
    local r = records[i] and read_live(records[i])
    if r and r.state == COMPLETED then ids[#ids + 1] = members[i] end
    if #ids >= CHUNK then break end
  end
  read = read + #ids
  for i, result in ipairs(redis.call('HMGET', results, unpack(ids))) do said[ids[i]] = result or '' end
end

for i, id in ipairs(members) do
  local state = records[i] and read_live(records[i]).state or WAITING
  if state == COMPLETED and not said[id] then
    if read + CHUNK > BODIES then
      page[2] = from + i - 1
      return page
    end
    read_on(i)
  end
  local result = state == COMPLETED and said[id] or ''
  local record = state == COMPLETED and records[i] or ''
  if bytes > 0 and bytes + #result + #record > BYTES then
    page[2], page[4] = from + i - 1, 1
    return page
  end
  bytes = bytes + #result + #record
  page[3] = bytes
  page[#page + 1] = {STATES[state], result, record}
end
if from + #members < b.total then page[2] = from + #members end
return page
