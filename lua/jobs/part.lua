-- part: who has had a job of a batch with an overlap. Each worker is given at most one job of it, so each job is answered by another
-- worker. The list is in `routes`, under the code of the batch.
local text = require 'base/text'
local write = require 'base/write'
local batch = require 'base/batch'
local route = require 'jobs/route'
local route_codec = require 'base/route_codec'
local ended = require 'jobs/ended'
local skip = require 'jobs/skip'
local part = {}
-- An entry: how, the job, the worker after the length of its name. A part is HELD with its job; then it is DONE, EXPIRED (the worker may
-- complete that job late or have it again, and no other) or SKIPPED.
local ENTRY, HELD, DONE, EXPIRED, SKIPPED = '>Bc' .. $ID_LEN .. 'Bc0', 1, 2, 3, 4
local MAX_PARTS = 16
local FORGOTTEN_FIRST = {SKIPPED, EXPIRED}
local unpack_entry, remove = struct.unpack, table.remove

local function decode(raw)
  local parts, list, at = {}, '', 1
  while raw and at <= #raw do
    local tag, value, stop = route_codec.read(raw, at)
    list, at = tag == route_codec.PARTS and value or list, stop
  end
  at = 1
  while at <= #list do
    local how, id, worker, stop = unpack_entry(ENTRY, list, at)
    parts[#parts + 1], at = {how = how, id = id, worker = worker}, stop
  end
  return parts
end

-- Whether an entry of `routes` is of a batch.
function part.is_list(raw)
  return route_codec.read(raw, 1) == route_codec.PARTS
end

local function encode(parts)
  local entries = {}
  for i, one in ipairs(parts) do entries[i] = text.bytes[one.how] .. one.id .. text.short(one.worker) end
  return route_codec.part(route_codec.PARTS, table.concat(entries))
end

local function write_parts(q)
  for code in pairs(q.parts.moved) do write.set(q, 'routes', code, encode(q.parts.known[code])) end
  q.parts.moved = {}
end

local function state_of(q)
  if not q.parts then
    q.parts = {known = {}, moved = {}}
    write.at_flush(q, write_parts)
  end
  return q.parts
end

local function read(q, codes)
  local known = state_of(q).known
  for i, raw in ipairs(write.ask(q, 'HMGET', q.routes, unpack(codes))) do known[codes[i]] = decode(raw) end
end

-- The parts of the batch of a job.
local function parts_of(q, id)
  local code = batch.of(id)
  local known = state_of(q).known
  if not known[code] then read(q, {code}) end
  return known[code], code
end

local function is_shared(q, id, header)
  local own = route.of(q, id, header)
  return own and own.overlap
end

-- Reads the parts of many jobs at once; their routes have been read.
function part.prefetch(q, ids)
  local codes, met = {}, {}
  for _, id in ipairs(ids) do
    local own, code = q.route and q.route.known[id], batch.of(id)
    if own and own.overlap and not met[code] and not state_of(q).known[code] then codes[#codes + 1], met[code] = code, true end
  end
  if #codes > 0 then read(q, codes) end
end

-- Where the worker's part is; 0 for none.
local function find(parts, worker)
  for i, one in ipairs(parts) do
    if one.worker == worker then return i end
  end
  return 0
end

-- The oldest part whose job another worker has had since makes room: it can no longer bring a completion. A batch has fewer jobs than
-- MAX_PARTS, so there is always one.
local function make_room(parts)
  local latest = {}
  for i, one in ipairs(parts) do latest[one.id] = i end
  for _, how in ipairs(FORGOTTEN_FIRST) do
    for i, one in ipairs(parts) do
      if one.how == how and latest[one.id] > i then return remove(parts, i) end
    end
  end
end

local function set(q, id, worker, how)
  local parts, code = parts_of(q, id)
  local at = find(parts, worker)
  if at > 0 then remove(parts, at) end
  if how then
    parts[#parts + 1] = {how = how, id = id, worker = worker}
    if #parts > MAX_PARTS then make_room(parts) end
  end
  state_of(q).moved[code] = true
end

-- The worker's part in the batch of a job; nil for none.
local function part_of(q, id, worker)
  local parts = parts_of(q, id)
  return parts[find(parts, worker)]
end

-- Whether the worker has had another job of the batch, or has no name by which that could be known.
function part.keeps_from(q, id, header, worker)
  if not is_shared(q, id, header) then return false end
  if worker == '' then return true end
  local own = part_of(q, id, worker)
  return own and own.id ~= id
end

-- Whether the worker can still complete this job of the batch, by the part that they have. `is_asked`: an operator names them, and a skip
-- does not count.
function part.lets_have(q, id, worker, is_asked)
  local own = part_of(q, id, worker)
  if not own then return true end
  if own.how == SKIPPED then return is_asked end
  return own.how ~= DONE and own.id == id
end

-- An operator names the worker for a job of the batch. Returns whether they had skipped one.
function part.take_back(q, id, header, worker)
  if not is_shared(q, id, header) then return false end
  local own = part_of(q, id, worker)
  if not own or own.how ~= SKIPPED then return false end
  set(q, id, worker)
  return true
end

function part.take(q, id, header, worker)
  if is_shared(q, id, header) then set(q, id, worker, HELD) end
end

-- Whether the reservation that ended last was this worker's and its time ran out: then that work may still come late.
local function may_be_late(r, worker)
  local how, by = ended.latest(r)
  return by == worker and (how == ended.EXPIRED or how == ended.GRACE_OVER)
end

-- What becomes of a part when the reservation ends; nil: it is forgotten. A skip stays one, also if the worker has had the job again.
local function state_after(r, worker, how)
  if how == ended.DONE or how == ended.DONE_LATE then return DONE end
  if how == ended.EXPIRED then return EXPIRED end
  if skip.has(r, worker) then return SKIPPED end
  if how == ended.GRACE_OVER or not how and may_be_late(r, worker) then return EXPIRED end
end

-- A reservation ends. `how` as in jobs/ended, nil if it was never delivered.
function part.leave(q, id, r, header, worker, how)
  if is_shared(q, id, header) then set(q, id, worker, state_after(r, worker, how)) end
end

-- Work that comes late counts, and so does its part.
function part.finish(q, id, header, worker)
  if is_shared(q, id, header) then set(q, id, worker, DONE) end
end

-- The name of a worker goes out of the parts of these batches; that a worker has had a job stays. One that they hold stays theirs.
function part.unname(q, codes, worker)
  if #codes == 0 then return end
  read(q, codes)
  for _, code in ipairs(codes) do
    for _, one in ipairs(q.parts.known[code]) do
      if one.worker == worker and one.how ~= HELD then one.worker, q.parts.moved[code] = '', true end
    end
  end
end

return part
