-- extend: the holder goes on working; a lost reservation is never revived.   reserved -> reserved
-- FLAGS  allow-oom
-- USES   clock write record batch gate baton leave dedupe ending back settle lapse draft event total commit
-- KEYS   reserved zset · settings hash
-- ARGV   per item 5: id, secret, digest of the secret, lease ms (0 = as long as the reservation was given), draft
-- ARGV   ('' = leave it, 'null' = remove it)
-- REPLY  per item: {'extended', deadline ms, now ms} | {'lost', how, state ('' = unknown)} |
-- REPLY  {'later'}: in the next script, as all behind it
local STRIDE = 5
read_items(STRIDE)
local max_hold = tonumber(redis.call('HGET', settings, 'max_hold_ms') or $MAX_HOLD_MS)
local to_reserved = begin('ZADD', reserved)

local function extend(at)
  local id, secret, digest, lease, draft = ARGV[at], ARGV[at + 1], ARGV[at + 2], tonumber(ARGV[at + 3]), ARGV[at + 4]
  local job = live_holder(id, secret)
  if not job then return not_live(id, digest, nil) end
  local hold = job.hold
  local deadline = now + (lease > 0 and lease or hold.lease)
  -- A limit that was lowered meanwhile takes nothing away that was granted before.
  if max_hold > 0 then deadline = math.min(deadline, math.max(job.deadline, hold.reserved_at + max_hold)) end
  job.deadline = deadline
  add(to_reserved, deadline, id)
  save_draft(id, hold.worker, draft)
  if is_marked_hold(hold, GRACE) then
    hold.marks = bit.band(hold.marks, REPLAYED)
    job.record.hold = pack_hold(hold)
    keep(id, job.record)
  end
  event('extended', id, hold.worker, job.header, '')
  return {'extended', deadline, now}
end

local replies = each_item(STRIDE, extend)

commit()
return counted(replies)
