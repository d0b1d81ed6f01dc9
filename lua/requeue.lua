-- requeue: an operator gives dead jobs another life, or runs a delayed one now.   dead | delayed -> waiting | blocked
-- FLAGS  allow-oom
-- USES   clock write record place batch gate baton search order event total commit
-- KEYS   delayed zset · dead zset · jobs hash · live hash · dedupe hash
-- ARGV   'job' id | 'queue' died until (a stamp; 0 = now), client ('' = any), batch ('' = any), what an error contains
-- ARGV   ('' = whatever), score and id of the last one that stays ('' = from the front)
-- REPLY  {'requeued', n, more (0 | 1), died until (a stamp), score and id of the last one that stays: it is not meant, or
-- REPLY  its batch is over or called off} | {'unknown'} |
-- REPLY  {'state', state}: completed, cancelled, or dead in a batch that is over or called off
local STEP = 200
local ids, last, ends = {ARGV[2]}, last_stamp(), true
local client, batch, text, score, member = ARGV[3] or '', ARGV[4] or '', ARGV[5] or '', ARGV[6] or '', ARGV[7] or ''
local died_at = {}

if ARGV[1] == 'queue' then
  if ARGV[2] ~= '0' then last = tonumber(ARGV[2]) end
  local from = rank_behind(dead, score, member)
  local entries = redis.call('ZRANGE', dead, from, from + STEP - 1, 'WITHSCORES')
  ids, ends = {}, #entries < STEP * 2
  for i = 1, #entries, 2 do
    if tonumber(entries[i + 1]) > last then
      ends = true
      break
    end
    ids[#ids + 1], died_at[#ids + 1] = entries[i], entries[i + 1]
  end
  if #ids == 0 then return {'requeued', 0, 0, last, score, member} end
end
local records, headers = redis.call('HMGET', live, unpack(ids)), redis.call('HMGET', jobs, unpack(ids))
if ARGV[1] == 'job' and (not headers[1] or is_stub(read_header(headers[1]))) then return {'unknown'} end

-- Dead for good: its batch is over, or called off.
local function is_kept(id, r, header)
  local b = r.state == DEAD and is_member(header) and read_batch(batch_of(id))
  return b and (is_over(b) or is_marked(b, TO_CANCEL))
end

if ARGV[1] == 'job' and records[1] then
  local r = read_live(records[1])
  if r.state == COMPLETED or r.state == CANCELLED or is_kept(ids[1], r, read_header(headers[1])) then
    return {'state', STATES[r.state]}
  end
end

local leave_dead, leave_delayed = begin('ZREM', dead), begin('ZREM', delayed)
local write_dedupe = begin('HSET', dedupe)
local those, digests, owners, requeued = {}, {}, {}, 0
for i, id in ipairs(ids) do
  those[i] = records[i] and headers[i] and {id = id, record = read_live(records[i]), header = read_header(headers[i])}
  if those[i] and those[i].header.digest then digests[#digests + 1] = those[i].header.digest end
end
if #digests > 0 then
  for i, owner in ipairs(redis.call('HMGET', dedupe, unpack(digests))) do owners[digests[i]] = owner end
end
foresee_gates(those)

local function new_turn(r, header)
  spend(2)
  arrive(r, r.score < 0 and r.priority or priority_of(r.score), header.client)
end

-- Its dedupe key again, if nobody has taken it since.
local function revive(id, r, header)
  if header.digest and not owners[header.digest] then
    owners[header.digest] = id
    add(write_dedupe, header.digest, id)
  end
  r.attempts, r.skips = 0, ''
  new_turn(r, header)
  add(leave_dead, id)
  event('requeued', id, '', header, '')
  total('requeued')
end

local function run_now(id, r, header)
  if r.score < 0 then new_turn(r, header) end
  add(leave_delayed, id)
  event('due', id, '', header, '')
end

local function rise(id, r, header)
  if r.state == DEAD then revive(id, r, header) else run_now(id, r, header) end
  requeued = requeued + 1
  line_up(id, r, header)
end

for i, id in ipairs(ids) do
  if is_spent() then
    ends = false
    break
  end
  local r, header = those[i] and those[i].record, those[i] and those[i].header
  if not r then
    if ARGV[1] == 'queue' then add(leave_dead, id) end
  elseif r.state ~= DEAD and r.state ~= DELAYED or is_kept(id, r, header)
    or not is_meant(id, header, r, client, batch, text) then
    score, member = died_at[i] or '', id
  else
    rise(id, r, header)
  end
end

commit()
return counted({'requeued', requeued, ends and 0 or 1, last, score, member})
