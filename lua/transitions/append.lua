-- append: adds jobs to a batch, after those that it has.   - -> waiting | blocked | delayed
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · parked zset · turns hash · jobs hash ·
-- KEYS   payloads hash · live hash · gates hash · batches hash · timers zset · tops hash · settings hash ·
-- KEYS   totals hash · events stream · hints channel
-- ARGV   batch, how many jobs it had before, 'make' (by its creation) | 'add', then per job 7: flags, priority
-- ARGV   ('' = the batch's), fingerprint (8 bytes), delay ms (0 = none), run at ms (0 = none), rest of the record,
-- ARGV   external payload ('' = it is in the rest)
-- REPLY  {'appended', record of the batch} | {'made'}: the creation is over | {'unknown'} | {'sealed', record} |
-- REPLY  {'misfit', how many jobs it has} | {'full'} | {'long'}: no batch has as many
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local commit = require 'base/commit'
local batch = require 'base/batch'
local store = require 'jobs/store'
local STRIDE, HEAD, STALLED, IDLE = 7, 3, 60000, 86400000

-- Jobs that are there already must be of the same call.
local function is_misfit(q, args, members)
  for i, raw in ipairs(redis.call('HMGET', q.jobs, unpack(members))) do
    local fingerprint = args[HEAD + (i - 1) * STRIDE + 3]
    if raw and record.header(raw).fingerprint ~= fingerprint then return true end
  end
  return false
end

-- The reply if nothing is to be stored; nil if the last `new` jobs are.
local function refusal(q, args, b, making, members, offset, new)
  if is_misfit(q, args, members) then return {'misfit', b.total} end
  if new <= 0 then return {'appended', batch.pack(b)} end
  if b.stage >= batch.SEALED or batch.is_marked(b, batch.TO_SEAL) and not making then return {'sealed', batch.pack(b)} end
  if offset + #members > $BATCH_TOTAL then return {'long'} end
  if not making and new > store.room_left(q, redis.call('HGET', q.settings, 'max_jobs')) then return {'full'} end
end

local function store_new(q, args, b, members, new)
  local jobs = {}
  for i = #members - new + 1, #members do
    local at = HEAD + (i - 1) * STRIDE
    local priority = args[at + 2] ~= '' and tonumber(args[at + 2]) or b.priority
    local flags, client, external = tonumber(args[at + 1]) + record.FINGERPRINT, b.client, args[at + 7]
    if client ~= '' then flags = flags + record.CLIENT end
    if external ~= '' then flags = flags + record.EXTERNAL end
    local named = client ~= '' and text.short(client) or ''
    local tail = record.tail(flags, priority, named .. args[at + 3] .. args[at + 6])
    jobs[#jobs + 1] = {
      id = members[i], tail = tail, header = record.header(record.stamped(0, tail)), delay = tonumber(args[at + 4]),
      run_at = tonumber(args[at + 5]), external = external,
    }
  end
  store.prefetch_locks(q, jobs)
  for _, job in ipairs(jobs) do store.job(q, job) end
end

-- Sets the timer: a creation may stop half-way, and an open batch may be forgotten.
local function set_next_timer(q, code, b, making)
  if not making then
    -- A batch that is still opening keeps its timer.
    if b.stage == batch.OPEN then batch.set_timer(q, code, clock.now(q) + IDLE) end
  elseif b.total < b.expected then
    batch.set_timer(q, code, clock.now(q) + STALLED)
  else
    b.stage = batch.OPENING
    batch.set_timer(q, code, clock.now(q))
  end
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

  store_new(q, args, b, members, new)
  b.total = b.total + new
  batch.changed(q, code, b)
  set_next_timer(q, code, b, making)
  return commit(q, function() return {'appended', batch.pack(b)} end)
end
