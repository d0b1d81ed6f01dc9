-- list: the jobs of one state, in the order of their set, a page at a time; the blocked by their gate.   reads only
-- FLAGS  no-writes
-- USES   clock record place event batch view
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset
-- ARGV   state, limit, client ('' = any), worker ('' = any), batch ('' = any), score and member of the one seen last
-- ARGV   ('' = from the start)
-- REPLY  {next score ('' = the end), next member, {jobs, as `job` shows them …}}
local LOOK, BYTES = 1000, $RESERVE_BYTES
local state, limit, client, worker, batch = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local after_score, after = ARGV[6], ARGV[7]
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

local page, looked, bytes, last = {}, 0, 0, nil
local from = rank_after()
local entries = redis.call('ZRANGE', set, from, from + LOOK - 1, 'WITHSCORES')

-- Members of the line are compared as numbers and ids: Lua orders bytes as the server's language does.
local function is_passed(member)
  if set ~= inbound or #member ~= #after then return member <= after end
  local own, last = arrival_of(member), arrival_of(after)
  return own < last or own == last and id_of(member) <= id_of(after)
end

local function fits(job)
  local header, r = read_header(job[2]), job[4] ~= '' and read_live(job[4])
  if STATES[r and r.state or WAITING] ~= state then return false end
  if client ~= '' and header.client ~= client then return false end
  local code = is_member(header) and batch_of(job[1])
  if batch ~= '' and code ~= batch then return false end
  -- Nobody sees a batch in the making.
  if code and read_batch(code).stage == MAKING then return false end
  return worker == '' or r and r.hold ~= '' and read_hold(r.hold).worker == worker
end

for i = 1, #entries, 2 do
  local member, score = entries[i], entries[i + 1]
  local passed = score == after_score and is_passed(member)
  local job = not passed and view(id_of(member))
  if job and fits(job) then
    bytes = bytes + #job[2] + #job[3] + #job[5]
    if #page > 0 and bytes > BYTES then break end
    page[#page + 1] = job
  end
  last, looked = {score, member}, looked + 1
  if #page >= limit then break end
end

if not last or looked * 2 == #entries and looked < LOOK then return {'', '', page} end
return {last[1], last[2], page}
