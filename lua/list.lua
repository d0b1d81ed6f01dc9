-- list: the jobs of one state, in the order of their set, a part of a page at a time; the blocked by their gate.
--        reads only
-- FLAGS  no-writes
-- USES   clock record place event batch view
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · jobs hash · live hash
-- ARGV   state, limit, client ('' = any), worker ('' = any), batch ('' = any), score and member of the one seen last
-- ARGV   ('' = from the start), bytes of bodies that the page has already
-- REPLY  {next score ('' = the end), next member, bytes of the page, full (0 | 1), {jobs, as `job` shows them …}}
local LOOK, CHUNK, BODIES, BYTES = 200, 100, 100, $RESERVE_BYTES
local state, limit, client, worker, batch = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local after_score, after, bytes = ARGV[6], ARGV[7], tonumber(ARGV[8])
local SETS = {
  waiting = inbound, blocked = parked, delayed = delayed, dead = dead, reserved = reserved, completed = ended,
  cancelled = ended,
}
local set = SETS[state]

-- The one seen last may have left the set; then its score says where to go on, or among equal scores its name.
local function rank_after()
  if after_score == '' then return 0 end
  if set == parked then return redis.call('ZLEXCOUNT', set, '-', '[' .. after) end
  local rank = redis.call('ZSCORE', set, after) == after_score and redis.call('ZRANK', set, after)
  return rank and rank + 1 or redis.call('ZCOUNT', set, '-inf', '(' .. after_score)
end

local from = rank_after()
local entries = redis.call('ZRANGE', set, from, from + LOOK - 1, 'WITHSCORES')
local page, last, full, bodies = {}, nil, false, 0

-- Members of the line are compared as numbers and ids: Lua orders bytes as the server's language does.
local function is_passed(member)
  if set ~= inbound or #member ~= #after then return member <= after end
  local own, last = arrival_of(member), arrival_of(after)
  return own < last or own == last and id_of(member) <= id_of(after)
end

-- Headers and live records alone say whether a job is asked for.
local function fits(id, header, r)
  if is_stub(header) or STATES[r.state] ~= state then return false end
  if client ~= '' and header.client ~= client then return false end
  local code = is_member(header) and batch_of(id)
  if batch ~= '' and code ~= batch then return false end
  local of = code and read_batch(code)
  -- Nobody sees a batch in the making.
  if of and of.stage == MAKING then return false end
  return worker == '' or r.hold ~= '' and read_hold(r.hold).worker == worker
end

-- Puts a job on the page. False: it belongs on the next one, or is for the next script to read.
local function put(id, header, r, raw, score)
  if is_spent() or bodies > 0 and bodies + bodies_of(header, r) > BODIES then return false end
  bodies = bodies + bodies_of(header, r)
  local job = show(id, header, r, raw, r.state ~= BLOCKED and score or '')
  local weight = #job[2] + #job[3]
  for part = 5, #job do weight = weight + (part ~= 6 and #job[part] or 0) end
  full = bytes > 0 and bytes + weight > BYTES
  if full then return false end
  bytes = bytes + weight
  page[#page + 1] = job
  return true
end

-- Looks at a part of the entries. Answers whether to look on.
local function look_at(first, past)
  local ids = {}
  for i = first, past - 1, 2 do ids[#ids + 1] = id_of(entries[i]) end
  local headers, records = redis.call('HMGET', jobs, unpack(ids)), redis.call('HMGET', live, unpack(ids))
  for n, id in ipairs(ids) do
    if is_spent() then return false end
    local member, score = entries[first + n * 2 - 2], entries[first + n * 2 - 1]
    local header = headers[n] and not (score == after_score and is_passed(member)) and read_header(headers[n])
    local r = header and (records[n] and read_live(records[n]) or new_live(WAITING, -1, header.priority, header.stamp))
    if r and fits(id, header, r) and not put(id, header, r, records[n] or '', score) then return false end
    last = {score, member}
    if #page >= limit then return false end
  end
  return true
end

local looked_at_all = true
for first = 1, #entries, CHUNK * 2 do
  looked_at_all = look_at(first, math.min(first + CHUNK * 2, #entries + 1))
  if not looked_at_all then break end
end

if looked_at_all and #entries < LOOK * 2 or #entries == 0 then return {'', '', bytes, 0, page} end
-- Whoever was looked at last may be the very last one.
last = last or {after_score, after}
if last[2] == entries[#entries - 1] and #entries < LOOK * 2 then return {'', '', bytes, 0, page} end
return {last[1], last[2], bytes, full and 1 or 0, page}
