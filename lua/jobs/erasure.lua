-- erasure: takes the name of a worker out of jobs. What is left says what an unnamed worker did. A job that the worker holds again stays as
-- it is.
local record = require 'base/record'
local text = require 'base/text'
local write = require 'base/write'
local event = require 'base/event'
local unnamed = require 'base/unnamed'
local ended = require 'jobs/ended'
local gate = require 'jobs/gate'
local baton = require 'jobs/baton'
local lines = require 'jobs/lines'
local loaded = require 'jobs/loaded'
local result = require 'jobs/result'
local draft = require 'jobs/draft'
local route = require 'jobs/route'
local routing = require 'jobs/routing'
local alarm = require 'jobs/alarm'
local erasure = {}
local byte, find, pack, unpack_record = string.byte, string.find, struct.pack, struct.unpack
local IS_OVER = {[record.DEAD] = true, [record.COMPLETED] = true, [record.CANCELLED] = true}
local NONE = {}

-- Reservations that have ended. The note of an abandon is a reason, that of a hand-over a line; others are no texts.
local function history_without(kept, name)
  local entries, at = {}, 1
  while at <= #kept do
    local digest, how, ended_at, reserved_at, worker, note, stop = unpack_record(record.ENDED, kept, at)
    if worker == name then worker = '' end
    if how == ended.ABANDONED then
      note = unnamed.text(note, name)
    elseif how == ended.HANDED_OVER and note == '$WORKER_LINE' .. name then
      note = ''
    end
    entries[#entries + 1] = pack(record.ENDED, digest, how, ended_at, reserved_at, #worker, worker, #note, note)
    at = stop
  end
  return table.concat(entries)
end

local function errors_without(kept, name)
  local entries, at = {}, 1
  while at <= #kept do
    local failed_at, worker, message, stop = unpack_record('$ERROR_FORMAT', kept, at)
    if worker == name then worker = '' end
    message = unnamed.text(message, name)
    entries[#entries + 1], at = pack('$ERROR_FORMAT', failed_at, #worker, worker, #message, message), stop
  end
  return table.concat(entries)
end

local function change_record(q, id, r, name)
  local history, errors = history_without(r.history, name), errors_without(r.errors, name)
  local skips = unnamed.list(r.skips, name) or ''
  if history == r.history and errors == r.errors and skips == r.skips then return false end
  r.history, r.errors, r.skips = history, errors, skips
  gate.keep(q, id, r)
  return true
end

local function change_late_results(q, id, r, name)
  local has_changed = false
  for slot = 0, math.min(r.late, $LATE_RESULTS) - 1 do
    local field = id .. '\0' .. slot
    local kept = result.of(q, field)
    if kept then
      local digest, at, worker, stop = unpack_record('$LATE_FORMAT', kept)
      if worker == name then
        result.set(q, field, pack('$LATE_FORMAT', digest, at, 0, '') .. kept:sub(stop))
        has_changed = true
      end
    end
  end
  return has_changed
end

-- Nil for a hand-over to the worker, which ends.
local function handed_without(handed, name)
  if not handed or handed.line == '$WORKER_LINE' .. name then return nil end
  if handed.from == name then handed.from = '' end
  handed.note = unnamed.text(handed.note, name)
  return handed
end

-- Whether a job with this route waits in the line of the worker.
local function is_in_line(own, name)
  if own.handed then return own.handed.line == '$WORKER_LINE' .. name end
  return own.assignees and not route.is_marked(own, route.FELL_BACK) and text.has(own.assignees, name)
end

-- `r` is nil for a job that was never handed out and is for everybody.
local function change_route(q, id, r, header, name)
  local own = route.of(q, id, header)
  if not own then return false end
  local _, before = route.open(q, id, header)
  local moves = r and r.state == record.WAITING and is_in_line(own, name)
  if moves then lines.leave(q, id, r, header) end
  own.assignees, own.excluded = unnamed.list(own.assignees, name), unnamed.list(own.excluded, name)
  -- A job of which each assignee is excluded could be given to no one.
  if routing.excludes_all(own, text.names(own.assignees or '')) then own.assignees = nil end
  own.handed = handed_without(own.handed, name)
  if not routing.is_for_some(own) then own.fallback_at = nil end
  if not route.close(q, id, own, before) then return false end
  if r and not IS_OVER[r.state] then alarm.set(q, id, own, r.state == record.RESERVED) end
  if moves then
    baton.line_up(q, id, r, header)
    event.add(q, 'changed', id, '', header, '')
  end
  return true
end

-- The jobs in which something names the worker, by id.
local function find_named(q, ids, name)
  local lives, named = write.ask(q, 'HMGET', q.live, unpack(ids)), {}
  local routes = route.is_used(q) and write.ask(q, 'HMGET', q.routes, unpack(ids)) or NONE
  local drafts = write.ask(q, 'HMGET', q.drafts, unpack(ids))
  for i, id in ipairs(ids) do
    local live, own = lives[i], routes[i]
    local is_named = live and (find(live, name, 1, true) or byte(live, $LATE_AT) + byte(live, $LATE_AT + 1) > 0)
    if is_named or own and find(own, name, 1, true) or drafts[i] and draft.owner_of(drafts[i]) == name then
      named[#named + 1], named[id] = id, {is_seen = live, draft = drafts[i]}
    end
  end
  return named
end

-- Reads what a change needs. A job without a live record has a header only.
local function prepare(q, named)
  loaded.read(q, named)
  route.read(q, named)
  local jobs, unseen = {}, {}
  for i, id in ipairs(named) do
    local job = q.loaded[id]
    jobs[i] = job and {id = id, header = job.header}
    if not named[id].is_seen then unseen[#unseen + 1] = id end
  end
  gate.prefetch(q, jobs)
  if #unseen == 0 then return end
  for i, raw in ipairs(write.ask(q, 'HMGET', q.jobs, unpack(unseen))) do
    named[unseen[i]].header = raw and record.header(raw)
  end
end

-- Returns whether anything named the worker.
local function change(q, id, found, name, shares)
  local job = q.loaded[id]
  if not job then return found.header and change_route(q, id, nil, found.header, name) end
  local r, header = job.record, job.header
  if r.lease ~= '' and record.lease(r.lease).worker == name then return false end
  local handed = routing.handed(q, id, header)
  local is_giver = handed and handed.from == name
  local has_draft = found.draft and draft.unname(q, id, found.draft, name, is_giver, shares)
  local has_late = change_late_results(q, id, r, name)
  local is_recorded = change_record(q, id, r, name)
  return change_route(q, id, r, header, name) or has_draft or has_late or is_recorded
end

-- Takes the name out of some jobs. `shares`: the queue shows drafts to each holder. Returns how many of the jobs it has come to when the
-- budget was spent, and how many it has changed.
function erasure.jobs(q, ids, name, shares)
  local named, changed = find_named(q, ids, name), 0
  if #named == 0 then return #ids, 0 end
  prepare(q, named)
  for i, id in ipairs(ids) do
    if write.is_spent(q) then return i - 1, changed end
    if named[id] and change(q, id, named[id], name, shares) then changed = changed + 1 end
  end
  return #ids, changed
end

return erasure
