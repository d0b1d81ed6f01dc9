-- stage: the long operations on a batch, in bounded steps: opening, cancelling, removal. Any caller that finds one unfinished runs
-- the next step.
local record = require 'base/record'
local clock = require 'base/clock'
local write = require 'base/write'
local event = require 'base/event'
local total = require 'base/total'
local batch = require 'base/batch'
local place = require 'jobs/place'
local order = require 'jobs/order'
local gate = require 'jobs/gate'
local loaded = require 'jobs/loaded'
local parking = require 'jobs/parking'
local baton = require 'jobs/baton'
local lines = require 'jobs/lines'
local route = require 'jobs/route'
local ending = require 'jobs/ending'
local removal = require 'jobs/removal'
local alarm = require 'jobs/alarm'
local stage = {}
local STEP, IDLE = $STEP_JOBS, batch.IDLE

-- The jobs of the batch from its cursor on for one step: {id, record, header} each, false for one that is gone.
local function next_members(q, code, b)
  local members, all, new = {}, loaded.all(q), {}
  for index = b.cursor, math.min(b.cursor + STEP, b.total) - 1 do members[#members + 1] = batch.member(code, index) end
  batch.changed(q, code, b)
  if #members == 0 then return members end
  local lives, headers = redis.call('HMGET', q.live, unpack(members)), redis.call('HMGET', q.jobs, unpack(members))
  for i, id in ipairs(members) do
    members[i] = false
    if headers[i] then
      members[i] = {id = id, record = lives[i] and record.live(lives[i]), header = record.header(headers[i])}
      all[id] = members[i]
      if not lives[i] then new[#new + 1] = members[i] end
    end
  end
  place.unseen_ones(q, new)
  gate.prefetch(q, members)
  return members
end

-- Raises the limit in steps, passing a baton for each unit. Without a limit the gate goes when no job is parked there.
local function open_step(q, code, b)
  local name = '\0' .. code
  local limit = b.concurrency > 0 and b.concurrency or math.huge
  local used, capacity = struct.unpack(gate.USE, gate.use_of(q, name) or struct.pack(gate.USE, 0, 0))
  local step = math.min(limit - capacity, STEP)
  gate.set_use(q, name, struct.pack(gate.USE, used, capacity + step))
  lines.gates_opened(q, {name})
  baton.prefetch(q, name, step)
  for _ = 1, step do
    if not baton.pass(q, name) then break end
  end
  if capacity + step < limit and parking.first(q, name) then return end
  gate.set_use(q, name, b.concurrency > 0 and struct.pack(gate.USE, used, limit) or false)
  batch.changed(q, code, b)
  if batch.is_marked(b, batch.TO_SEAL) then return batch.seal(q, code, b) end
  b.stage = batch.OPEN
  batch.set_timer(q, code, clock.now(q) + IDLE)
end

-- Cancels the jobs that are not reserved; the holders of the others may finish.
local function cancel_step(q, code, b)
  for _, job in ipairs(next_members(q, code, b)) do
    if write.is_spent(q) then return end
    local r = job and job.record
    b.cursor = b.cursor + 1
    if r and (r.state == record.WAITING or r.state == record.BLOCKED or r.state == record.DELAYED) then
      ending.leave_set(q, job.id, r, job.header)
      ending.cancel(q, job.id, r, job.header, '')
    end
  end
  if b.cursor >= b.total then batch.set_timer(q, code, '+inf') end
end

local function remove_job(q, job)
  local id, r, header = job.id, job.record, job.header
  if r.state == record.COMPLETED then
    total.count(q, 'batch_completed_kept', -1)
  elseif r.state == record.CANCELLED then
    total.count(q, 'batch_cancelled_kept', -1)
  else
    ending.leave_set(q, id, r, header)
    order.give_back(q, r, header.client)
    alarm.stop(q, id, header, r.state)
    if r.state ~= record.DEAD then
      event.add(q, 'cancelled', id, '', header, '')
      total.count(q, 'cancelled')
    end
  end
  removal.delete(q, id, r)
end

-- Returns how many jobs were removed.
local function remove_step(q, code, b)
  local removed = 0
  if b.stage ~= batch.REMOVING then b.stage, b.cursor = batch.REMOVING, 0 end
  for _, job in ipairs(next_members(q, code, b)) do
    if write.is_spent(q) then return removed end
    b.cursor = b.cursor + 1
    if job then
      remove_job(q, job)
      removed = removed + 1
    end
  end
  if b.cursor >= b.total then
    batch.removed(q, code)
    gate.set_use(q, '\0' .. code, false)
    redis.call('HDEL', q.batches, code)
    if route.is_used(q) then route.drop(q, code) end
    redis.call('ZREM', q.timers, code)
  end
  return removed
end

function stage.is_unfinished(b)
  if b.stage == batch.SEALED then return batch.is_marked(b, batch.TO_CANCEL) and b.cursor < b.total end
  return b.stage == batch.OPENING or b.stage == batch.REMOVING
end

-- One step of the operation that a batch is in; `overdue`: its timer has run out. Returns how many jobs were removed.
function stage.step(q, code, b, overdue)
  if b.stage == batch.OPENING then
    open_step(q, code, b)
  elseif b.stage == batch.SEALED then
    if stage.is_unfinished(b) then cancel_step(q, code, b) end
  elseif b.stage == batch.OPEN then
    if overdue then batch.seal(q, code, b) end
    batch.changed(q, code, b)
  elseif overdue or b.stage == batch.REMOVING then
    return remove_step(q, code, b)
  end
  return 0
end

return stage
