-- route: what a job has beside its records, in `routes`: when it expires, when its SLA is over, and what has happened by that. Each
-- part is a tag and a value. A part that this version does not know stays as it is. Only a job with the flag ROUTED is looked up.
-- The twin is src/store/layout/route.rs.
local record = require 'base/record'
local record_bytes = require 'base/record_bytes'
local clock = require 'base/clock'
local write = require 'base/write'
local route = {
  -- Tags, with FROM_NOW in a call: the value is ms from now. Marks: the SLA was breached; the job was cancelled because it expired.
  $ROUTE_PARTS,
}
local PART = '>BI2c0'
local pack, unpack_part, min, band = struct.pack, struct.unpack, math.min, bit.band

local function decode(raw)
  local own, at = {marks = 0, rest = ''}, 1
  while at <= #raw do
    local tag, value, stop = unpack_part(PART, raw, at)
    if tag == route.EXPIRES then
      own.expires = unpack_part('>I6', value)
    elseif tag == route.SLA then
      own.sla = unpack_part('>I6', value)
    elseif tag == route.MARKS then
      own.marks = value:byte()
    else
      own.rest = own.rest .. raw:sub(at, stop - 1)
    end
    at = stop
  end
  return own
end

local function time(tag, at)
  return at and pack('>BI2I6', tag, 6, at) or ''
end

-- '' for a route without parts.
local function encode(own)
  local marks = own.marks > 0 and pack('>BI2B', route.MARKS, 1, own.marks) or ''
  return time(route.EXPIRES, own.expires) .. time(route.SLA, own.sla) .. marks .. own.rest
end

-- The routes that this call has read, by id; false for none.
local function read_so_far(q)
  if not q.route then q.route = {} end
  return q.route
end

-- Reads those of many jobs at once.
function route.read(q, ids)
  if #ids == 0 then return end
  local known = read_so_far(q)
  for i, raw in ipairs(write.ask(q, 'HMGET', q.routes, unpack(ids))) do known[ids[i]] = raw and decode(raw) end
end

-- The same for those of a list of records that have the flag.
function route.prefetch(q, ids, raws)
  local routed = {}
  for i, id in ipairs(ids) do
    if raws[i] and record_bytes.is_routed(raws[i]) then routed[#routed + 1] = id end
  end
  route.read(q, routed)
end

-- Nil or false for a job without one.
function route.of(q, id, header)
  if not record.is_routed(header) then return end
  local known = read_so_far(q)
  if known[id] == nil then route.read(q, {id}) end
  return known[id]
end

-- As it is stored; '' for none.
function route.raw(q, id, header)
  local own = route.of(q, id, header)
  return own and encode(own) or ''
end

function route.keep(q, id, own)
  local raw = encode(own)
  if raw == '' then write.delete(q, 'routes', id) else write.set(q, 'routes', id, raw) end
  read_so_far(q)[id] = raw ~= '' and own
end

-- Changes the parts that a call names; a part without a value goes.
function route.apply(q, own, asked)
  local at = 1
  while at <= #asked do
    local tag, value, stop = unpack_part(PART, asked, at)
    local moment = value ~= '' and unpack_part('>I6', value) or nil
    if tag >= route.FROM_NOW then tag, moment = tag - route.FROM_NOW, clock.now(q) + moment end
    if tag == route.EXPIRES then own.expires = moment else own.sla = moment end
    -- Each SLA can be breached once; another one counts anew.
    if tag == route.SLA then own.marks = band(own.marks, route.OVER) end
    at = stop
  end
  return own
end

-- That of a new job.
function route.new(q, id, asked)
  local own = route.apply(q, decode(''), asked)
  route.keep(q, id, own)
  return own
end

-- Applies the changes to the route of a job. Returns the route, and whether anything changed.
function route.change(q, id, header, asked)
  local own = route.of(q, id, header) or decode('')
  local before = encode(own)
  route.apply(q, own, asked)
  local is_changed = encode(own) ~= before
  if is_changed then route.keep(q, id, own) end
  return own, is_changed
end

function route.is_marked(own, mark)
  return band(own.marks, mark) ~= 0
end

function route.mark(q, id, own, mark)
  if route.is_marked(own, mark) then return end
  own.marks = own.marks + mark
  route.keep(q, id, own)
end

-- The job has expired, swept or not. A dead job does not expire, which its callers know.
function route.is_over(q, id, header)
  local own = route.of(q, id, header)
  return own and own.expires and own.expires <= clock.now(q) or false
end

-- The same for a job in this state that nobody holds: the sweep will cancel it.
function route.is_over_in(q, id, header, state)
  local is_open = state == record.WAITING or state == record.BLOCKED or state == record.DELAYED
  return is_open and route.is_over(q, id, header)
end

-- A deadline that is not later than the expiry of the job.
function route.capped(q, id, header, deadline)
  local own = route.of(q, id, header)
  return own and own.expires and min(deadline, own.expires) or deadline
end

-- Whether any job of the queue has one.
function route.is_used(q)
  if not q.routed then q.routed = write.ask(q, 'EXISTS', q.routes) end
  return q.routed == 1
end

return route
