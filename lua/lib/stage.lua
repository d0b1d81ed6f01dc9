-- stage: the long works on a batch, a bounded step at a time: opening, calling off, removal. Whoever finds one
-- unfinished goes on with it.
-- USES   clock write record place order batch gate baton leave dedupe ending gone event total
-- KEYS   jobs hash · live hash · batches hash · timers zset
local STAGE_STEP, IDLE = 200, 86400000

-- The jobs of the batch from its cursor on, as far as a step can go: {id, record, header} each, or false for one gone.
local function next_members(code, b)
  local members = {}
  for index = b.cursor, math.min(b.cursor + STAGE_STEP, b.total) - 1 do
    members[#members + 1] = member_id(code, index)
  end
  batches_moved[code] = b
  if #members == 0 then return members end
  local records, headers = redis.call('HMGET', live, unpack(members)), redis.call('HMGET', jobs, unpack(members))
  local new = {}
  for i, id in ipairs(members) do
    members[i] = false
    if headers[i] then
      members[i] = {id = id, record = records[i] and read_live(records[i]), header = read_header(headers[i])}
      in_hand[id] = members[i]
      if not records[i] then new[#new + 1] = members[i] end
    end
  end
  unseen_ones(new)
  foresee_gates(members)
  return members
end

-- Its limit is raised bit by bit, with a baton for each unit; without a limit, its gate goes when nothing waits there.
local function open_step(code, b)
  local gate = '\0' .. code
  local limit = b.concurrency > 0 and b.concurrency or math.huge
  local used, capacity = struct.unpack('>I4I4', use_of(gate) or struct.pack('>I4I4', 0, 0))
  local step = math.min(limit - capacity, STAGE_STEP)
  set_use(gate, struct.pack('>I4I4', used, capacity + step))
  foresee_parked(gate, step)
  for _ = 1, step do
    if not pass_baton(gate) then break end
  end
  if capacity + step < limit and first_parked(gate) then return end
  if b.concurrency > 0 then
    set_use(gate, struct.pack('>I4I4', used, limit))
  else
    set_use(gate, false)
  end
  batches_moved[code] = b
  if is_marked(b, TO_SEAL) then return seal(code, b) end
  b.stage = OPEN
  set_timer(code, now + IDLE)
end

-- Who holds a job of it may finish.
local function call_off_step(code, b)
  for _, job in ipairs(next_members(code, b)) do
    if is_spent() then return end
    local r = job and job.record
    b.cursor = b.cursor + 1
    if r and (r.state == WAITING or r.state == BLOCKED or r.state == DELAYED) then
      leave_set(job.id, r, job.header)
      cancel_job(job.id, r, job.header, '')
    end
  end
  if b.cursor >= b.total then set_timer(code, '+inf') end
end

-- Answers how many jobs went.
local function remove_step(code, b)
  local removed = 0
  if b.stage ~= REMOVING then b.stage, b.cursor = REMOVING, 0 end
  for _, job in ipairs(next_members(code, b)) do
    if is_spent() then return removed end
    b.cursor = b.cursor + 1
    if job then
      local r = job.record
      if r.state == COMPLETED then
        total('batch_completed_kept', -1)
      elseif r.state == CANCELLED then
        total('batch_cancelled_kept', -1)
      else
        leave_set(job.id, r, job.header)
        give_back(r, job.header.client)
        if r.state ~= DEAD then
          event('cancelled', job.id, '', job.header, '')
          total('cancelled')
        end
      end
      gone(job.id, r)
      removed = removed + 1
    end
  end
  if b.cursor >= b.total then
    batches_moved[code] = nil
    set_use('\0' .. code, false)
    redis.call('HDEL', batches, code)
    redis.call('ZREM', timers, code)
  end
  return removed
end

local function is_unfinished(b)
  if b.stage == SEALED then return is_marked(b, TO_CANCEL) and b.cursor < b.total end
  return b.stage == OPENING or b.stage == REMOVING
end

-- One step of what a batch needs now; `overdue`: its timer has run out.
local function stage_step(code, b, overdue)
  if b.stage == OPENING then
    open_step(code, b)
  elseif b.stage == SEALED then
    if is_unfinished(b) then call_off_step(code, b) end
  elseif b.stage == OPEN then
    if overdue then seal(code, b) end
    batches_moved[code] = b
  elseif overdue or b.stage == REMOVING then
    return remove_step(code, b)
  end
  return 0
end
