-- append: adds jobs to a batch, after those that it has.   - -> waiting | blocked | delayed
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · parked zset · restricted zset · lines zset ·
-- KEYS   turns hash · jobs hash · payloads hash · live hash · gates hash · batches hash · timers zset ·
-- KEYS   routes hash · alarms zset · tops hash · settings hash · totals hash · events stream · hints channel
-- ARGV   batch, how many jobs it had before, 'make' (by its creation) | 'add', then per job 2: record without layout, stamp and
-- ARGV   client, its priority 255 for the batch's; rare options, as after the id of enqueue
-- REPLY  {'appended', record of the batch} | {'made'}: the creation is over | {'unknown'} | {'sealed', record} |
-- REPLY  {'misfit', how many jobs it has} | {'full'} | {'overdue'}: full, but sweep first | {'long'}: no batch has as many | {'untimely', now ms}
local record = require 'base/record'
local clock = require 'base/clock'
local commit = require 'base/commit'
local batch = require 'base/batch'
local store = require 'jobs/store'
local STRIDE, HEAD = 2, 3

-- Jobs that are there already must be of the same call.
local function is_misfit(q, args, members)
  for i, raw in ipairs(redis.call('HMGET', q.jobs, unpack(members))) do
    local fingerprint = args[HEAD + i * STRIDE - 1]:sub($REST_AT, $REST_AT + $FINGERPRINT_SIZE - 1)
    if raw and record.header(raw).fingerprint ~= fingerprint then return true end
  end
  return false
end

-- The new jobs, the last `new` of the list.
local function read_new(args, b, members, new)
  local jobs = {}
  for i = #members - new + 1, #members do
    local at = HEAD + i * STRIDE
    jobs[#jobs + 1] = store.new(members[i], batch.tail(b, args[at - 1]), args[at], 1)
  end
  return jobs
end

-- The reply if nothing is to be stored; nil if the last `new` jobs are.
local function refusal(q, args, b, making, members, offset, new)
  if is_misfit(q, args, members) then return {'misfit', b.total} end
  if new <= 0 then return {'appended', batch.pack(b)} end
  if b.stage >= batch.SEALED or batch.is_marked(b, batch.TO_SEAL) and not making then return {'sealed', batch.pack(b)} end
  if offset + #members > $BATCH_TOTAL then return {'long'} end
  if not making and new > store.room_left(q, redis.call('HGET', q.settings, 'max_jobs')) then return {store.why_full(q)} end
end

-- A creation is refused before its first job.
local function are_timely(q, jobs, making)
  for _, job in ipairs(jobs) do
    if not making and not store.is_timely(q, job) then return false end
  end
  return true
end

return function(q, args)
  local code, offset, making = args[1], tonumber(args[2]), args[3] == 'make'
  local n, members = (#args - HEAD) / STRIDE, {}
  local b = batch.read(q, code)
  if not b or b.stage == batch.REMOVING or b.stage == batch.MAKING and not making then return {'unknown'} end
  if making and b.stage ~= batch.MAKING then return {'made'} end
  if offset > b.total then return {'misfit', b.total} end
  for i = 1, n do members[i] = batch.member(code, offset + i - 1) end
  local new = offset + n - b.total
  local refused = refusal(q, args, b, making, members, offset, new)
  if refused then return refused end

  local jobs = read_new(args, b, members, new)
  if not are_timely(q, jobs, making) then return {'untimely', clock.now(q)} end
  store.prefetch(q, jobs)
  for _, job in ipairs(jobs) do store.job(q, job) end
  batch.grow(q, code, b, new, making, clock.now(q))
  batch.changed(q, code, b)
  return commit(q, function() return {'appended', batch.pack(b)} end)
end
