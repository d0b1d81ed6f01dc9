-- back: where a job goes when its reservation has ended: to its place, to a delay, or to the dead.
-- USES   clock write stamp record place order batch gate baton leave dedupe ending event total
-- KEYS   delayed zset · dead zset · settings hash
local to_delayed, to_dead = begin('ZADD', delayed), begin('ZADD', dead)
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

-- The jobs of a batch that was cancelled do not come back.
local function is_called_off(id, header)
  return is_member(header) and is_marked(read_batch(batch_of(id)), TO_CANCEL)
end

local function back_to_line(id, r, header)
  if is_called_off(id, header) then return cancel_job(id, r, header, '') end
  line_up(id, r, header)
end

local function back_to_delay(id, r, header, delay)
  if is_called_off(id, header) then return cancel_job(id, r, header, '') end
  enter(id, r, header, DELAYED)
  add(to_delayed, now + delay, id)
  keep(id, r)
end

local function die(id, r, header, worker)
  enter(id, r, header, DEAD)
  give_back(r, header.client)
  add(to_dead, digits(new_stamp()), id)
  keep(id, r)
  free_dedupe(id, header)
  event('dead', id, worker, header, '')
  total('dead')
end

-- A reservation past its deadline. Answers whether the job is dead by it.
local function expire(id, r, hold, header)
  run_out(id, r, hold, header)
  if not is_marked_hold(hold, GRACE) and out_of_attempts(r, header) then
    die(id, r, header, hold.worker)
    return true
  end
  back_to_line(id, r, header)
  return false
end
