-- route: what a job has besides its records, in `routes`: when it expires, when its SLA is over, who may have it, and what has
-- happened by that. Only a job with the flag ROUTED is looked up.
local record = require 'base/record'
local record_flags = require 'base/record_flags'
local clock = require 'base/clock'
local write = require 'base/write'
local route_codec = require 'base/route_codec'
local route = {BREACHED = route_codec.BREACHED, OVER = route_codec.OVER, FELL_BACK = route_codec.FELL_BACK}
local ROUTED, unpack_time, band = record.ROUTED, struct.unpack, bit.band

-- Writes the routes that this call has changed.
local function write_routes(q)
  local state = q.route
  for id in pairs(state.moved) do
    local own = state.known[id]
    local raw = own and route_codec.encode(own) or ''
    if raw == '' then write.delete(q, 'routes', id) else write.set(q, 'routes', id, raw) end
  end
  state.moved = {}
end

-- `known`: the routes that this call has read, by id, false for none; `moved`: those that it has changed.
local function state_of(q)
  local state = q.route
  if not state then
    state = {known = {}, moved = {}}
    q.route = state
    write.at_flush(q, write_routes)
  end
  return state
end

-- Reads those of many jobs at once.
function route.read(q, ids)
  if #ids == 0 then return end
  local known = state_of(q).known
  for i, raw in ipairs(write.ask(q, 'HMGET', q.routes, unpack(ids))) do
    if known[ids[i]] == nil then known[ids[i]] = raw and route_codec.decode(raw) end
  end
end

-- The same for those of a list of records that have the flag.
function route.prefetch(q, ids, raws)
  local routed = {}
  for i, id in ipairs(ids) do
    if raws[i] and record_flags.is_routed(raws[i]) then routed[#routed + 1] = id end
  end
  route.read(q, routed)
end

-- The same for jobs, {id, header} each or false.
function route.prefetch_jobs(q, jobs)
  local routed = {}
  for _, job in ipairs(jobs) do
    if job and record.is_routed(job.header) then routed[#routed + 1] = job.id end
  end
  route.read(q, routed)
end

-- Nil or false for a job without one. It is asked often, and no flag of most jobs is as high.
function route.of(q, id, header)
  if header.flags < ROUTED or not record.is_routed(header) then return end
  local state = q.route
  if not state or state.known[id] == nil then
    route.read(q, {id})
    state = q.route
  end
  return state.known[id]
end

-- As it is stored; '' for none.
function route.raw(q, id, header)
  local own = route.of(q, id, header)
  return own and route_codec.encode(own) or ''
end

-- A copy that may be changed; an empty one for a job without a route.
function route.copy(q, id, header)
  return route_codec.decode(route.raw(q, id, header))
end

function route.keep(q, id, own)
  local state = state_of(q)
  state.known[id], state.moved[id] = own, true
end

-- The job goes for good.
function route.drop(q, id)
  if q.route then q.route.moved[id] = nil end
  write.delete(q, 'routes', id)
end

local TEXTS = {
  [route_codec.ASSIGNEES] = 'assignees', [route_codec.EXCLUDED] = 'excluded', [route_codec.SKILL] = 'skill',
  [route_codec.OVERLAP] = 'overlap',
}

local function apply_part(q, own, tag, value)
  if TEXTS[tag] then
    own[TEXTS[tag]] = value ~= '' and value or nil
  elseif tag == route_codec.FALLBACK then
    own.fallback = value ~= '' and unpack_time('$FALLBACK_FORMAT', value) or nil
  elseif tag == route_codec.MARKS then
    own.marks = value:byte()
  else
    local moment = value ~= '' and unpack_time('$TIME_FORMAT', value) or nil
    if tag >= route_codec.FROM_NOW then tag, moment = tag - route_codec.FROM_NOW, clock.now(q) + moment end
    if tag == route_codec.EXPIRES then own.expires = moment else own.sla = moment end
    -- Each SLA can be breached once; another one counts again.
    if tag == route_codec.SLA and route.is_marked(own, route.BREACHED) then own.marks = own.marks - route.BREACHED end
  end
end

-- Changes the parts that a call names; a part without a value goes.
function route.apply(q, own, asked)
  local at = 1
  while at <= #asked do
    local tag, value, stop = route_codec.read(asked, at)
    apply_part(q, own, tag, value)
    at = stop
  end
  return own
end

-- Whether a call changes who may have the job, apart from who is excluded: `now` any part of that, `line` its lines. And whether it `assigns`
-- it to workers.
function route.changes(asked)
  local now, line, assigns, at = false, false, false, 1
  while at <= #asked do
    local tag, _, stop = route_codec.read(asked, at)
    line = line or tag == route_codec.ASSIGNEES or tag == route_codec.SKILL
    assigns = assigns or tag == route_codec.ASSIGNEES
    now, at = now or line or tag == route_codec.FALLBACK, stop
  end
  return now, line, assigns
end

-- That of a new job.
function route.new(q, id, asked)
  local own = route.apply(q, route_codec.decode(''), asked)
  route.keep(q, id, own)
  return own
end

-- The route of a job, an empty one if it has none, and as it is stored.
function route.open(q, id, header)
  local own = route.of(q, id, header) or route_codec.decode('')
  return own, route_codec.encode(own)
end

-- Keeps a route if it has changed. Returns whether it has.
function route.close(q, id, own, before)
  local is_changed = route_codec.encode(own) ~= before
  if is_changed then route.keep(q, id, own) end
  return is_changed
end

-- From now on the record says that the job has a route.
function route.flag(q, id, header)
  if record.is_routed(header) then return end
  header.flags, header.raw = header.flags + record.ROUTED, record_flags.with_route(header.raw)
  write.set(q, 'jobs', id, header.raw)
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

local function keep_uncut(q, id, own, uncut)
  if own.uncut == uncut then return end
  own.uncut = uncut
  route.keep(q, id, own)
end

-- The deadline of a reservation, which is not later than the expiry of the job. What that cuts off is kept, for another expiry.
function route.cut(q, id, header, deadline)
  local own = route.of(q, id, header)
  if not own then return deadline end
  local is_cut = own.expires and own.expires < deadline
  keep_uncut(q, id, own, is_cut and deadline or nil)
  return is_cut and own.expires or deadline
end

-- The deadline that a reservation would have if the job did not expire before.
function route.uncut(q, id, header, deadline)
  local own = route.of(q, id, header)
  return own and own.uncut and math.max(own.uncut, deadline) or deadline
end

-- The reservation ends.
function route.forget_uncut(q, id, header)
  local own = route.of(q, id, header)
  if own then keep_uncut(q, id, own, nil) end
end

-- Whether any job of the queue has one.
function route.is_used(q)
  if not q.routed then q.routed = write.ask(q, 'EXISTS', q.routes) end
  return q.routed == 1
end

return route
