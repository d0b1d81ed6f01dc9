-- line: the jobs in line for a caller, in order: those for everybody, and those of the lines of its worker and its skills. Jobs that are
-- taken or blocked leave it; jobs that are passed over stay for the others.
local record = require 'base/record'
local write = require 'base/write'
local ask = require 'jobs/ask'
local place = require 'jobs/place'
local gate = require 'jobs/gate'
local route = require 'jobs/route'
local part = require 'jobs/part'
local line_set = require 'jobs/line_set'
local source = require 'jobs/source'
-- RESERVE: commands that remain for the jobs when the lines of all calls have been read.
local line = {CANDIDATES = 100, CHUNK = 50, RESERVE = 60}
local NONE = {}

-- Inserts a job that the baton put back, unless its place is after the read part.
local function put_back(q, id, r, header)
  local s = q.line.everybody
  local member = place.member(id, r.arrival)
  local entry = source.entry(id, r.score, member, member, header.raw, record.pack(r))
  local at = s.first
  while at <= #s and source.precedes(s[at], entry) do at = at + 1 end
  if at > #s and not s.ends then return end
  q.line.ended = nil
  source.insert(s, at, entry)
  s.cursor = math.min(s.cursor, at)
end

-- `everybody`: the source of `inbound`; `own`: the others by line; `active`: those of the current call; `at`: the one with the current
-- entry; `gone`: jobs that have left other lines; `looked`: entries that could not be given to the current
-- call; `ended`: how far the last call came that was given nothing, until a job comes or goes; `begun`: where the read parts begin, if not
-- at the front; `firsts`: the first place before that, by priority; `totals`: by line, how many waited, with those that had left it in
-- this script.
local function new(totals)
  local everybody = source.new('')
  return {
    everybody = everybody, own = {}, active = {everybody}, at = everybody, gone = {}, looked = 0, firsts = {}, totals = totals,
  }
end

-- Nothing is read yet, and `inbound` not looked at.
function line.open(q)
  q.line, q.left = new({}), {}
  q.line.everybody.ends = true
  q.put_back = put_back
end

-- Begins again after a job that may have left since, or at the front; `inbound` is not looked at.
function line.begin(q, from, member)
  local l = new(q.line.totals)
  q.line = l
  l.everybody.ends = true
  if member ~= '' then l.begun = {from, member} end
end

-- The same, and reads from there.
function line.read_from(q, from, member, limit)
  line.begin(q, from, member)
  if member ~= '' then source.begin(q, q.line.everybody, from, member) end
  source.read(q, q.line.everybody, limit)
end

-- Goes to where a call continues, or to the front, and stays there for the calls that follow.
function line.go_to(q, from, member)
  local begun = q.line.begun or NONE
  if begun[1] == from and begun[2] == member then return end
  write.flush(q)
  line.read_from(q, from or 0, member or '', line.CHUNK)
end

-- The lines that a call may look into, besides everybody's.
local function own_names(q, call)
  if not q.context.is_routed then return NONE end
  call.lines = call.lines or ask.lines(call.worker, call.skills)
  return call.lines
end

-- How many jobs wait in a line. Those that have left it in this script are taken off, so that not each call has to write them first.
local function waiting_in(q, name)
  local total, left = q.line.totals[name], q.left[name] or 0
  if not total then
    write.flush(q)
    write.spend(q, 1)
    total = line_set.count(q, name) + left
    q.line.totals[name] = total
  end
  return total - left
end

-- The sources that some calls need besides `inbound`, {source, how many jobs of it they can want} each, as many as the budget allows.
local function open_own(q, calls)
  local l, those, by_line = q.line, {}, {}
  -- Several calls look for the line of each worker only if there are such lines.
  local finds_workers = #calls < 2 or line_set.has_workers(q)
  for _, call in ipairs(calls) do
    call.lines = not finds_workers and call.skills
    for _, name in ipairs(own_names(q, call)) do
      local one = by_line[name]
      if one then
        one[2] = math.min(one[2] + call.limit, line.CHUNK)
      elseif write.has_left(q, line.RESERVE + #those * 2) then
        l.own[name] = source.new(name)
        by_line[name] = {l.own[name], math.min(call.limit, line.CHUNK)}
        those[#those + 1] = by_line[name]
      end
    end
  end
  return those
end

-- Reads the first jobs of the lines that some calls may look into, with few commands, before anything is written.
function line.read_own(q, calls, wanted)
  local l, those, ids, raws = q.line, open_own(q, calls), {}, {}
  source.read_all(q, those, wanted)
  write.spend(q, #those)
  for _, one in ipairs(those) do
    local s = one[1]
    l.totals[s.line] = s.ends and #s or line_set.count(q, s.line)
    for at = 1, s.loaded do ids[#ids + 1], raws[#raws + 1] = s[at].id, s[at].raw end
    s.has_routes = true
  end
  route.prefetch(q, ids, raws)
  part.prefetch(q, ids)
end

-- Reads the first `limit` jobs after a place, of all lines that a call may look into; of `inbound` only if it looks there.
function line.read_after(q, call, from, member, limit, has_inbound)
  line.begin(q, from, member)
  local l, those = q.line, {}
  l.everybody.ends = not has_inbound
  if has_inbound then those[1] = {l.everybody, limit} end
  for _, name in ipairs(own_names(q, call)) do
    l.own[name] = source.new(name)
    those[#those + 1] = {l.own[name], limit}
  end
  if member ~= '' then
    for _, one in ipairs(those) do source.begin(q, one[1], from, member) end
  end
  source.read_all(q, those, limit)
  line.rewind(q, call)
end

-- The source of a line, one of `count`, of which no call has read the first entries; this one does.
local function own_source(q, l, name, call, count)
  local limit = math.ceil(math.min(call.limit, line.CANDIDATES) / count)
  l.own[name] = source.new(name)
  if l.begun then source.begin(q, l.own[name], l.begun[1], l.begun[2]) end
  source.read(q, l.own[name], limit)
  return l.own[name]
end

-- Looks from the front, for a worker with these skills.
function line.rewind(q, call)
  local l, names = q.line, own_names(q, call)
  l.active, l.looked = {l.everybody}, 0
  l.everybody.cursor = l.everybody.first
  for i = 1, #names do
    local name = names[i]
    local s = l.own[name] or own_source(q, l, name, call, #names)
    l.active[i + 1], s.cursor = s, s.first
  end
end

-- Loads the gates of the read part when its first gated job is met.
function line.prefetch(q)
  local s, those = q.line.at, {}
  if s.is_prefetched then return end
  s.is_prefetched = true
  for at = s.cursor, s.loaded do
    local header = source.header(s[at])
    if record.is_gated(header) then those[#those + 1] = {id = s[at].id, header = header} end
  end
  gate.prefetch(q, those)
end

-- Loads the routes of the read part when its first job with one is met.
function line.prefetch_routes(q)
  local s, ids, raws = q.line.at, {}, {}
  if s.has_routes then return end
  s.has_routes = true
  for at = s.cursor, s.loaded do ids[#ids + 1], raws[#raws + 1] = s[at].id, s[at].raw end
  route.prefetch(q, ids, raws)
  part.prefetch(q, ids)
end

-- The current entry of a source; reads on while the call may look at more. Nil at the end.
local function current_of(q, s)
  local l = q.line
  while true do
    while s[s.cursor] and l.gone[s[s.cursor].id] do s.cursor = s.cursor + 1 end
    if s.cursor <= #s or s.ends or l.looked >= line.CANDIDATES or write.is_spent(q) then return s[s.cursor] end
    write.flush(q)
    source.read(q, s, math.min(line.CHUNK, line.CANDIDATES - l.looked))
  end
end

-- The first of the current entries of all sources; nil at the end. Its records may not be loaded.
local function first_of_all(q, l)
  local first = nil
  for i = 1, #l.active do
    local s = l.active[i]
    local entry = current_of(q, s)
    -- A line that this call may not read on could have the next job.
    if not entry and not s.ends then return nil end
    if entry and (not first or source.precedes(entry, first)) then first, l.at = entry, s end
  end
  return first
end

-- The current entry. Nil at the end.
function line.current(q)
  local l = q.line
  while true do
    local entry = first_of_all(q, l)
    if not entry or entry.raw then return entry end
    write.flush(q)
    source.load_rest(q, l.at)
  end
end

-- Whether there may be entries that the call has not looked at.
function line.has_more(q)
  for _, s in ipairs(q.line.active) do
    if s.cursor <= #s or not s.ends then return true end
  end
  return false
end

-- Whether all that was read is looked at, but there is more.
function line.is_cut_short(q)
  for _, s in ipairs(q.line.active) do
    if s.cursor > #s and not s.ends then return true end
  end
  return false
end

-- The line of the current entry, '' for everybody's.
function line.name(q)
  return q.line.at.line
end

-- The lines that the current call may look into.
function line.names(q)
  local names = {}
  for i, s in ipairs(q.line.active) do names[i] = s.line end
  return names
end

-- Skips the current entry.
function line.pass(q)
  local l = q.line
  l.at.cursor, l.looked, l.ended = l.at.cursor + 1, l.looked + 1, nil
end

-- Removes the current entry. Other lines may have it too.
function line.drop(q)
  local l = q.line
  local s = l.at
  l.ended = nil
  if s.line ~= '' then l.gone[s[s.cursor].id] = true end
  source.drop(s)
end

-- Removes the current entry, which could not be given.
function line.reject(q)
  q.line.looked = q.line.looked + 1
  line.drop(q)
end

function line.drop_id(q, id)
  local l = q.line
  l.ended, l.gone[id] = nil, true
  for at = l.everybody.first, #l.everybody do
    if l.everybody[at].id == id then
      l.everybody.cursor = at
      return source.drop(l.everybody)
    end
  end
end

-- How many jobs wait in the own lines of the current call.
function line.own_waiting(q)
  local waiting = 0
  for _, s in ipairs(q.line.active) do
    if s.line ~= '' then waiting = waiting + waiting_in(q, s.line) end
  end
  return waiting
end

return line
