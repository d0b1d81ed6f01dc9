-- fail: the holder reports failure, which counts an attempt.   reserved -> waiting | blocked | delayed | dead
-- FLAGS  allow-oom
-- USES   clock write record batch gate baton leave dedupe ending back settle lapse event total commit
-- KEYS   settings hash
-- ARGV   per item 5: id, secret, digest of the secret, error, jitter (0 .. 200 thousandths of the backoff, only added)
-- REPLY  per item: {'back', state} | {'again', state} | {'lost', how, state ('' = unknown)} |
-- REPLY  {'later'}: in the next script, as all behind it
local STRIDE, ERRORS, FIXED, EXPONENTIAL = 5, 5, 1, 2
read_items(STRIDE)
foresee_ends()
local queue_backoff -- {type, delay ms, most ms}, written by set
for type, delay, most in string.gmatch(redis.call('HGET', settings, 'backoff') or '', '(%d+) (%d+) (%d+)') do
  queue_backoff = {tonumber(type), tonumber(delay), tonumber(most)}
end

-- The last five errors, newest first: when, worker, text.
local function note(errors, worker, text)
  local stop, entries = 1, 1
  while stop <= #errors and entries < ERRORS do
    local _, _, _, next_stop = struct.unpack('>I6Bc0I2c0', errors, stop)
    stop, entries = next_stop, entries + 1
  end
  return struct.pack('>I6Bc0I2c0', now, #worker, worker, #text, text) .. errors:sub(1, stop - 1)
end

local function backoff(r, header, jitter)
  local kind, delay, most = header.backoff, header.backoff_delay, header.backoff_max
  if not kind and queue_backoff then kind, delay, most = unpack(queue_backoff) end
  if kind == EXPONENTIAL then delay = math.min(delay * 2 ^ math.min(r.attempts - 1, 40), most) end
  if kind ~= FIXED and kind ~= EXPONENTIAL then return 0 end
  return delay + math.floor(delay * jitter / 1000)
end

local function fail(at)
  local id, secret, digest, text, jitter = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], tonumber(ARGV[at + 4])
  local job = live_holder(id, secret)
  if not job then return not_live(id, digest, FAILED) end
  local r, header, worker = job.record, job.header, job.hold.worker
  r.failed, r.attempts = r.failed + 1, r.attempts + 1
  r.errors = note(r.errors, worker, text)
  let_go(job, id, FAILED)
  event('failed', id, worker, header, text)
  total('failed')
  if out_of_attempts(r, header) then
    die(id, r, header, worker)
    return {'back', STATES[r.state]}
  end
  local delay = backoff(r, header, jitter)
  if delay > 0 then back_to_delay(id, r, header, delay) else back_to_line(id, r, header) end
  return {'back', STATES[r.state]}
end

local replies = each_item(STRIDE, fail)

commit()
return counted(replies)
