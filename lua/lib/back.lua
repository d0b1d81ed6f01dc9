-- back: where a job goes when its reservation has ended: to its place, to a delay, or to the dead.
-- USES   clock write record leave dedupe event total
-- KEYS   inbound zset · delayed zset · dead zset · live hash · settings hash
local to_inbound, to_delayed, to_dead = begin('ZADD', inbound), begin('ZADD', delayed), begin('ZADD', dead)
local write_live = begin('HSET', live)
local queue_max_attempts

-- A job without a limit of its own has the queue's; 0 is none.
local function out_of_attempts(r, header)
  local most = header.max_attempts
  if not most then
    queue_max_attempts = queue_max_attempts or tonumber(redis.call('HGET', settings, 'max_attempts') or $MAX_ATTEMPTS)
    most = queue_max_attempts
  end
  return most > 0 and r.attempts >= most
end

local function back_to_line(id, r)
  r.state = WAITING
  add(to_inbound, r.score, id)
  add(write_live, id, pack_live(r))
end

local function back_to_delay(id, r, delay)
  r.state = DELAYED
  add(to_delayed, now + delay, id)
  add(write_live, id, pack_live(r))
end

local function die(id, r, header, worker)
  r.state = DEAD
  add(to_dead, now, id)
  add(write_live, id, pack_live(r))
  free_dedupe(id, header)
  event('dead', id, worker, header.client, '')
  total('dead')
end

-- A reservation past its deadline. Answers whether the job is dead by it.
local function expire(id, r, hold, header)
  run_out(id, r, hold, header)
  if out_of_attempts(r, header) then
    die(id, r, header, hold.worker)
    return true
  end
  back_to_line(id, r)
  return false
end
