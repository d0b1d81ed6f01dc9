-- list: the jobs of one state, in the order of their set, a page at a time.   reads only
-- FLAGS  no-writes
-- USES   record view
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset
-- ARGV   state, limit, client ('' = any), worker ('' = any), score and id of the last one seen ('' = from the start)
-- REPLY  {next score ('' = the end), next id, {jobs, as `job` shows them …}}
local LOOK, BYTES = 1000, $RESERVE_BYTES
local state, limit, client, worker, after_score, after_id = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local SETS = {
  waiting = inbound, delayed = delayed, dead = dead, reserved = reserved, completed = ended, cancelled = ended,
}
local set = SETS[state]
if not set then return {'', '', {}} end

-- The one seen last may have left the set; then its score says where to go on.
local from = 0
if after_score ~= '' then
  local rank = redis.call('ZSCORE', set, after_id) == after_score and redis.call('ZRANK', set, after_id)
  from = rank and rank + 1 or redis.call('ZCOUNT', set, '-inf', '(' .. after_score)
end

local page, looked, bytes, last = {}, 0, 0, nil
local entries = redis.call('ZRANGE', set, from, from + LOOK - 1, 'WITHSCORES')

local function fits(job)
  local header, r = read_header(job[2]), job[4] ~= '' and read_live(job[4])
  if STATES[r and r.state or WAITING] ~= state then return false end
  if client ~= '' and header.client ~= client then return false end
  return worker == '' or r and r.hold ~= '' and read_hold(r.hold).worker == worker
end

for i = 1, #entries, 2 do
  local id, score = entries[i], entries[i + 1]
  local passed = score == after_score and id <= after_id
  local job = not passed and view(id)
  if job and fits(job) then
    bytes = bytes + #job[2] + #job[3] + #job[5]
    if #page > 0 and bytes > BYTES then break end
    page[#page + 1] = job
  end
  last, looked = {score, id}, looked + 1
  if #page >= limit then break end
end

if not last or looked * 2 == #entries and looked < LOOK then return {'', '', page} end
return {last[1], last[2], page}
