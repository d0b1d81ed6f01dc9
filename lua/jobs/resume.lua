-- resume: what a worker holds already. The same call again is given the same jobs; a reloaded page has its job again.
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local write = require 'base/write'
local event = require 'base/event'
local place = require 'jobs/place'
local gate = require 'jobs/gate'
local ask = require 'jobs/ask'
local hand = require 'jobs/hand'
local desk = require 'jobs/desk'
local resume = {}
local HELD = '200'
local REPLAYED = record.REPLAYED

local function comes_before(a, b)
  if a.lease.reserved_at ~= b.lease.reserved_at then return a.lease.reserved_at < b.lease.reserved_at end
  if a.record.score ~= b.record.score then return a.record.score < b.record.score end
  return a.record.arrival < b.record.arrival
end

-- Those of some jobs whose time is not over yet.
local function in_time(q, ids)
  local kept, now = {}, clock.now(q)
  for i, deadline in ipairs(write.ask(q, 'ZMSCORE', q.reserved, unpack(ids))) do
    if tonumber(deadline or 0) > now then kept[#kept + 1] = ids[i] end
  end
  return kept
end

-- All that a worker holds, or only what this very call was given before: {id, record, lease} each, oldest first. What is
-- overdue does not count, whether or not the sweep has come to it.
local function holdings(q, worker, nonce, all)
  local from = all and worker .. '\0' or worker .. '\0' .. nonce .. '\0'
  local to = from:sub(1, -2) .. '\1'
  local ids, mine = write.ask(q, 'ZRANGEBYLEX', q.held, '[' .. from, '(' .. to, 'LIMIT', '0', HELD), {}
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

-- What the caller holds, if that matters for the call; else what this very call was given before.
function resume.of(q, asks)
  local served, worker = q.served, asks.worker
  local who = worker ~= '' and worker or asks.nonce
  if served.touched[who] or asks.mode == ask.THIS then write.so_far(q) end
  served.touched[who] = true
  local all = worker ~= '' and (q.desk.worker_limit > 0 or asks.mode == ask.RESUME)
  if not all then return holdings(q, worker, asks.nonce, false) end
  served.mine[who] = served.mine[who] or holdings(q, worker, asks.nonce, true)
  return served.mine[who]
end

-- Their headers and deadlines, at once.
local function read_rest(q, those)
  local ids = {}
  for i, job in ipairs(those) do ids[i] = job.id end
  local headers = write.ask(q, 'HMGET', q.jobs, unpack(ids))
  local deadlines = write.ask(q, 'ZMSCORE', q.reserved, unpack(ids))
  for i, job in ipairs(those) do job.raw, job.deadline = headers[i], tonumber(deadlines[i] or 0) end
end

-- The jobs of the same call before; nil when it is new. They are marked, lest the undo of a first try takes them from the
-- second.
function resume.replay(q, mine, nonce)
  local given, those = {'held'}, {}
  for _, job in ipairs(mine) do
    if job.lease.nonce == nonce then those[#those + 1] = job end
  end
  if #those == 0 then return end
  read_rest(q, those)
  if not hand.can_show(q, those) then return {'later'} end
  for _, job in ipairs(those) do
    local lease, r = job.lease, job.record
    if not record.is_marked(lease, REPLAYED) then
      lease.marks = lease.marks + REPLAYED
      r.lease = record.pack_lease(lease)
      gate.keep(q, job.id, r)
    end
    given[#given + 1] = hand.shown(q, job.id, job.raw, record.pack(r), job.deadline, lease.worker)
  end
  return given
end

-- The same reservation for the same person, for as long as it was given, or as this call asks.
local function hand_again(q, call, job)
  local id, r, lease = job.id, job.record, job.lease
  write.remove(q, 'held', record.held(lease, id))
  lease.nonce, lease.resumes, lease.marks = call.nonce, lease.resumes + 1, 0
  if call.lease_ms > 0 then lease.ms = call.lease_ms end
  r.lease = record.pack_lease(lease)
  job.deadline = math.max(job.deadline, desk.capped(q, clock.now(q) + lease.ms, lease.reserved_at))
  write.add(q, 'held', '0', record.held(lease, id))
  write.add(q, 'reserved', text.of(job.deadline), id)
  gate.keep(q, id, r)
  event.tell(q, 'resumed', id, lease.worker, record.header(job.raw), '')
  return hand.shown(q, id, job.raw, record.pack(r), job.deadline, lease.worker)
end

-- One that the call asks for by its id.
function resume.one(q, call, job)
  read_rest(q, {job})
  return {'held', hand_again(q, call, job)}
end

function resume.all(q, call, mine)
  local given, those, bytes, h = {'held'}, {}, 0, q.hand
  for i = 1, math.min(#mine, call.limit) do those[i] = mine[i] end
  if #those > 0 then read_rest(q, those) end
  if not hand.can_show(q, those) then return {'later'} end
  for i, job in ipairs(those) do
    local weight = hand.size(q, job.id, job.raw)
    if i == 1 and h.spent > 0 and h.spent + weight > hand.BYTES then return {'later'} end
    if i > 1 and bytes + weight > hand.BYTES then break end
    bytes, h.spent = bytes + weight, h.spent + weight
    given[i + 1] = hand_again(q, call, job)
  end
  return given
end

return resume
