-- create: a producer begins a batch. It is closed, and nobody sees it, until all its jobs are there.   - -> making
-- USES   clock write record batch store
-- KEYS   gates hash · batches hash · settings hash
-- ARGV   batch, concurrency (0 = no limit), priority, client, how many jobs it will have, sealed then (0 | 1),
-- ARGV   fingerprint (8 bytes, or 8 NUL for none)
-- REPLY  {'making'} | {'made'}: by the same call before | {'removing'}: an older one of this id | {'reused'} | {'full'}
local STALLED = 60000
local code, expected, fingerprint = ARGV[1], tonumber(ARGV[5]), ARGV[7]

local before = read_batch(code)
if before and before.stage == REMOVING then return {'removing'} end
if before and before.fingerprint ~= fingerprint then return {'reused'} end
if before then return {before.stage <= OPENING and 'making' or 'made'} end
if expected > 0 and expected > room_left(redis.call('HGET', settings, 'max_jobs')) then return {'full'} end

redis.call('HSET', gates, '\0' .. code, struct.pack('>I4I4', 0, 0))
redis.call('HSET', batches, code, pack_batch({
  stage = expected == 0 and OPENING or MAKING, marks = ARGV[6] == '1' and TO_SEAL or 0, priority = tonumber(ARGV[3]),
  created_at = now, sealed_at = 0, ended_at = 0, expected = expected, total = 0, cursor = 0,
  concurrency = tonumber(ARGV[2]), counts = {0, 0, 0, 0, 0, 0, 0}, fingerprint = fingerprint, client = ARGV[4],
}))
set_timer(code, expected == 0 and now or now + STALLED)
return {'making'}
