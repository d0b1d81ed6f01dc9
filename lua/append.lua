-- append: jobs are put into a batch, behind those that it has.   - -> waiting | blocked | delayed
-- USES   clock write record batch gate baton order store event total commit
-- KEYS   jobs hash · settings hash
-- ARGV   batch, how many jobs it had before, 'make' (by its creation) | 'add', then per job 7: flags, priority
-- ARGV   ('' = the batch's), fingerprint (8 bytes), delay ms (0 = none), run at ms (0 = none), rest of the record,
-- ARGV   payload that lives apart ('' = it is in the rest)
-- REPLY  {'appended', record of the batch} | {'made'}: the creation is over | {'unknown'} | {'sealed', record} |
-- REPLY  {'misfit', how many jobs it has} | {'full'} | {'long'}: no batch has as many
local STRIDE, HEAD, STALLED, IDLE = 7, 3, 60000, 86400000
local code, offset, making = ARGV[1], tonumber(ARGV[2]), ARGV[3] == 'make'
local n = (#ARGV - HEAD) / STRIDE

local b = read_batch(code)
if not b or b.stage == REMOVING or b.stage == MAKING and not making then return {'unknown'} end
if making and b.stage ~= MAKING then return {'made'} end
if offset > b.total then return {'misfit', b.total} end

-- What is there already must be of the same call.
local members = {}
for i = 1, n do members[i] = member_id(code, offset + i - 1) end
for i, raw in ipairs(redis.call('HMGET', jobs, unpack(members))) do
  local fingerprint = ARGV[HEAD + (i - 1) * STRIDE + 3]
  if raw and read_header(raw).fingerprint ~= fingerprint then return {'misfit', b.total} end
end
local new = offset + n - b.total
if new <= 0 then return {'appended', pack_batch(b)} end
if b.stage >= SEALED or is_marked(b, TO_SEAL) and not making then return {'sealed', pack_batch(b)} end
if offset + n > $BATCH_TOTAL then return {'long'} end
if not making and new > room_left(redis.call('HGET', settings, 'max_jobs')) then return {'full'} end

local packed = {}
for i = n - new + 1, n do
  local at = HEAD + (i - 1) * STRIDE
  packed[#packed + 1] = {id = members[i], flags = tonumber(ARGV[at + 1]), rest = ARGV[at + 6]}
end
foresee_locks(packed)
for i = n - new + 1, n do
  local at = HEAD + (i - 1) * STRIDE
  local priority = ARGV[at + 2] ~= '' and tonumber(ARGV[at + 2]) or b.priority
  store(members[i], tonumber(ARGV[at + 1]), priority, b.client, '', ARGV[at + 3], tonumber(ARGV[at + 4]),
    tonumber(ARGV[at + 5]), ARGV[at + 6], ARGV[at + 7])
end
b.total = b.total + new
batches_moved[code] = b
if not making then
  -- One that opens still is gone on with at its time, whoever appends meanwhile.
  if b.stage == OPEN then set_timer(code, now + IDLE) end
elseif b.total < b.expected then
  set_timer(code, now + STALLED)
else
  b.stage = OPENING
  set_timer(code, now)
end

commit()
return counted({'appended', pack_batch(b)})
