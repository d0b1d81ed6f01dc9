-- resume: the jobs that a worker already holds. A repeated call gets the same jobs, and a reloaded page gets its job back.
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local write = require 'base/write'
local event = require 'base/event'
local place = require 'jobs/place'
local gate = require 'jobs/gate'
local ask = require 'jobs/ask'
local handout = require 'jobs/handout'
local reserve_context = require 'jobs/reserve_context'
local route = require 'jobs/route'
local routing = require 'jobs/routing'
local resume = {}
local HELD = '$MAX_HELD'
local REPLAYED = record.REPLAYED

local function comes_before(a, b)
  if a.lease.reserved_at ~= b.lease.reserved_at then return a.lease.reserved_at < b.lease.reserved_at end
  if a.record.score ~= b.record.score then return a.record.score < b.record.score end
  return a.record.arrival < b.record.arrival
end

-- The jobs that are not overdue.
local function in_time(q, ids)
  local kept, now = {}, clock.now(q)
  for i, deadline in ipairs(write.ask(q, 'ZMSCORE', q.reserved, unpack(ids))) do
    if tonumber(deadline or 0) > now then kept[#kept + 1] = ids[i] end
  end
  return kept
end

-- The jobs that a worker holds (`all`), or that this very call was given: {id, record, lease} each, oldest first. Overdue ones do
-- not count, swept or not.
local function holdings(q, worker, nonce, all)
  local own = all and worker or worker .. '\0' .. nonce
  local ids, mine = write.ask(q, 'ZRANGEBYLEX', q.held, '[' .. own .. '\0', '(' .. own .. '\1', 'LIMIT', '0', HELD), {}
  for i, member in ipairs(ids) do ids[i] = place.id_of(member) end
  if #ids > 0 and q.served.is_overdue then ids = in_time(q, ids) end
  if #ids == 0 then return mine end
  for i, raw in ipairs(write.ask(q, 'HMGET', q.live, unpack(ids))) do
    local r = raw and record.live(raw)
    if r and r.lease ~= '' then mine[#mine + 1] = {id = ids[i], record = r, lease = record.lease(r.lease)} end
  end
  table.sort(mine, comes_before)
  return mine
end

-- The jobs that the caller holds, if the call needs them all; else those that this very call was given.
function resume.of(q, asks)
  if asks.mode == ask.FRESH then return {} end
  local served, worker = q.served, asks.worker
  local who = worker ~= '' and worker or asks.nonce
  if served.touched[who] or asks.mode == ask.THIS then write.flush(q) end
  served.touched[who] = true
  local all = worker ~= '' and (q.context.worker_limit > 0 or asks.mode == ask.RESUME)
  if not all then return holdings(q, worker, asks.nonce, false) end
  served.mine[who] = served.mine[who] or holdings(q, worker, asks.nonce, true)
  return served.mine[who]
end

-- Reads records and deadlines.
local function read_rest(q, those)
  local ids = {}
  for i, job in ipairs(those) do ids[i] = job.id end
  local headers = write.ask(q, 'HMGET', q.jobs, unpack(ids))
  local deadlines = write.ask(q, 'ZMSCORE', q.reserved, unpack(ids))
  for i, job in ipairs(those) do job.raw, job.deadline = headers[i], tonumber(deadlines[i] or 0) end
end

-- The jobs that the same call was given before; nil for a new call. They are marked as replayed, so that the undo of the first try
-- does not take them from the second.
function resume.replay(q, mine, nonce)
  if #mine == 0 then return end
  local given, those = {'held'}, {}
  for _, job in ipairs(mine) do
    if job.lease.nonce == nonce then those[#those + 1] = job end
  end
  if #those == 0 then return end
  read_rest(q, those)
  if not handout.can_show(q, those) then return {'later'} end
  for _, job in ipairs(those) do
    local lease, r = job.lease, job.record
    if not record.is_marked(lease, REPLAYED) then
      lease.marks = lease.marks + REPLAYED
      r.lease = record.pack_lease(lease)
      gate.keep(q, job.id, r)
    end
    given[#given + 1] = handout.show(q, job.id, job.raw, record.pack(r), job.deadline, lease, routing.handed(q, job.id, record.header(job.raw)))
  end
  return given
end

-- Renews the reservation for the same worker, for its own length or the one that this call asks for.
local function hand_again(q, call, job)
  local id, r, lease, header = job.id, job.record, job.lease, record.header(job.raw)
  write.remove(q, 'held', record.held(lease, id))
  lease.nonce, lease.resumes, lease.marks = call.nonce, lease.resumes + 1, record.resumed(lease.marks)
  if call.lease_ms > 0 then lease.ms = call.lease_ms end
  r.lease = record.pack_lease(lease)
  local granted = route.uncut(q, id, header, job.deadline)
  local deadline = math.max(granted, reserve_context.capped(q, clock.now(q) + lease.ms, lease.reserved_at))
  job.deadline = route.cut(q, id, header, deadline)
  write.add(q, 'held', '0', record.held(lease, id))
  write.add(q, 'reserved', text.of(job.deadline), id)
  gate.keep(q, id, r)
  event.add(q, 'resumed', id, lease.worker, header, call.access)
  return handout.show(q, id, job.raw, record.pack(r), job.deadline, lease, routing.handed(q, id, header))
end

-- A job that the call asks for by id.
function resume.one(q, call, job)
  read_rest(q, {job})
  return {'held', hand_again(q, call, job)}
end

function resume.all(q, call, mine)
  local given, those, bytes, h = {'held'}, {}, 0, q.handout
  for i = 1, math.min(#mine, call.limit) do those[i] = mine[i] end
  if #those > 0 then read_rest(q, those) end
  if not handout.can_show(q, those) then return {'later'} end
  for i, job in ipairs(those) do
    local weight = handout.size(q, job.id, job.raw)
    if i == 1 and h.spent > 0 and h.spent + weight > handout.BYTES then return {'later'} end
    if i > 1 and bytes + weight > handout.BYTES then break end
    bytes, h.spent = bytes + weight, h.spent + weight
    given[i + 1] = hand_again(q, call, job)
  end
  return given
end

return resume
