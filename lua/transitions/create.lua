-- create: a producer begins a batch, which is closed and invisible until all its jobs are there.   - -> making
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · parked zset · restricted zset · lines zset ·
-- KEYS   turns hash · jobs hash · payloads hash · live hash · gates hash · batches hash · timers zset ·
-- KEYS   routes hash · alarms zset · tops hash · settings hash · totals hash · events stream · hints channel
-- ARGV   batch, concurrency (0 = no limit), priority, client, how many jobs it will have, sealed then (0 | 1),
-- ARGV   fingerprint (8 bytes, or 8 NUL for none), and if its jobs name times: the first ms and the one after the last at which
-- ARGV   these are valid
-- REPLY  {'making'} | {'made'}: by the same call before | {'removing'}: an older one of this id | {'reused'} | {'full'} | {'overdue'}: full, but sweep first |
-- REPLY  {'untimely', now ms}
local clock = require 'base/clock'
local batch = require 'base/batch'
local gate = require 'jobs/gate'
local store = require 'jobs/store'

return function(q, args)
  local code, expected, fingerprint, now = args[1], tonumber(args[5]), args[7], clock.now(q)
  local before = batch.read(q, code)
  if before and before.stage == batch.REMOVING then return {'removing'} end
  if before and before.fingerprint ~= fingerprint then return {'reused'} end
  if before and before.stage <= batch.OPENING then return {'making'} end
  if before then return {'made'} end
  if args[8] and (now < tonumber(args[8]) or now >= tonumber(args[9])) then return {'untimely', now} end
  if expected > 0 and expected > store.room_left(q, redis.call('HGET', q.settings, 'max_jobs')) then return {store.why_full(q)} end

  redis.call('HSET', q.gates, '\0' .. code, struct.pack(gate.USE, 0, 0))
  local b = {
    stage = batch.MAKING, marks = args[6] == '1' and batch.TO_SEAL or 0,
    priority = tonumber(args[3]), created_at = now, sealed_at = 0, ended_at = 0, expected = expected, total = 0,
    cursor = 0, concurrency = tonumber(args[2]), counts = {0, 0, 0, 0, 0, 0, 0}, fingerprint = fingerprint,
    client = args[4],
  }
  batch.grow(q, code, b, 0, true, now)
  redis.call('HSET', q.batches, code, batch.pack(b))
  return {'making'}
end
