-- list: the jobs of one state, in the order of their set, a part of a page at a time; the blocked by their gate. The completed jobs of
--       one worker: those of batches follow, which are in no set.   reads only
-- FLAGS  no-writes
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · restricted zset ·
-- KEYS   jobs hash · payloads hash · live hash · results hash · gates hash · batches hash · timers zset ·
-- KEYS   routes hash · alarms zset · totals hash · events stream
-- ARGV   state, limit, worker ('' = any): who holds it, has completed it or had it last when it died, client ('' = any), batch
-- ARGV   ('' = any), text of an error ('' = any), enqueued before (ms, '' = any), text of the payload or an error ('' = any),
-- ARGV   breached SLA (0 = any | 1), line ('' = any), score and member of the one seen last ('' = from the start), bytes of bodies
-- ARGV   that the page has already
-- REPLY  {score and member of the last that was looked at ('' = none), the end (0 | 1), bytes of the page, full (0 | 1), how
-- REPLY  many were looked at, {jobs, as
-- REPLY  `job` shows them …}, how many had ended before the first that was looked at, forgotten ones included ('' = it is no
-- REPLY  list of ended jobs), {of each job, how many of those looked at stand before it, in batches the score of its place …}}
local record = require 'base/record'
local write = require 'base/write'
local text = require 'base/text'
local batch = require 'base/batch'
local place = require 'jobs/place'
local page = require 'jobs/page'
local job_page = require 'jobs/job_page'
local search = require 'jobs/search'
local ended = require 'jobs/ended'
local in_batches = require 'jobs/in_batches'
local route = require 'jobs/route'
local routing = require 'jobs/routing'
local json_escapes = require 'base/json_escapes'
local LOOK, CHUNK = $PAGE_ENTRIES, 100
-- Before all scores.
local FIRST_SCORE = '0'
-- Bytes of external payloads that a call searches; the last one may exceed it.
local SEARCHED = 524288
-- Bytes of payloads that a call decodes, which takes some milliseconds; the last one may exceed it.
local DECODED = 65536
local IN_RESTRICTED = search.IN_RESTRICTED

local function open(q, args)
  local state, list = args[1], job_page.new(tonumber(args[2]), tonumber(args[13]))
  list.state, list.worker, list.filter, list.text = state, args[3], search.filter(args, 4), args[8]
  list.breached, list.line, list.after_score, list.after = args[9] == '1', args[10], args[11], args[12]
  list.is_of_worker = state == 'completed' and list.worker ~= ''
  list.is_in_batches = list.is_of_worker and in_batches.is_place(list.after)
  list.searched, list.decoded, list.looked, list.ranks, list.mark = 0, 0, 0, {}, ''
  list.set = ({
    waiting = q.inbound, blocked = q.parked, delayed = q.delayed, dead = q.dead, reserved = q.reserved,
    completed = q.ended, cancelled = q.ended,
  })[state]
  -- Waiting jobs stand in two sets, one after the other: a place in the second has a '+' before its score.
  if state == 'waiting' and (list.line ~= '' or list.after_score:sub(1, 1) == IN_RESTRICTED) then
    list.set, list.mark, list.after_score = q.restricted, IN_RESTRICTED, list.after_score:gsub('^%+', '')
  end
  return list
end

-- The rank after the last one seen, which may have left the set.
local function rank_after(q, list)
  if list.after_score ~= '' and list.set == q.parked then
    return redis.call('ZLEXCOUNT', list.set, '-', '[' .. list.after)
  end
  return page.rank_after(list.set, list.after_score, list.after)
end

-- Members of the line are compared as numbers and ids, because Lua compares strings by the locale of the server.
local function is_passed(list, member)
  local after = list.after
  if list.is_in_batches then return false end
  if list.state ~= 'waiting' or #member ~= #after then return member <= after end
  local own, last = place.arrival_of(member), place.arrival_of(after)
  return own < last or own == last and place.id_of(member) <= place.id_of(after)
end

local function is_in(q, wanted, id, header)
  for _, line in ipairs(routing.lines(q, id, header) or {}) do
    if line == wanted then return true end
  end
  return false
end

-- Does the worker hold the job, or has completed it, or had it last when it died?
local function is_workers(list, r)
  if r.lease ~= '' then return record.lease(r.lease).worker == list.worker end
  if r.state ~= record.COMPLETED and r.state ~= record.DEAD then return false end
  local _, worker = ended.latest(r)
  return worker == list.worker
end

-- Does the job match, by header and live record?
local function fits(q, list, id, header, r)
  if record.is_alias(header) or record.STATES[r.state] ~= list.state then return false end
  if not search.matches(id, header, r, list.filter) then return false end
  local own = list.breached and route.of(q, id, header)
  if list.breached and not (own and route.is_marked(own, route.BREACHED)) then return false end
  if list.line ~= '' and not is_in(q, list.line, id, header) then return false end
  local of = record.is_member(header) and batch.read(q, batch.of(id))
  -- A batch in the making is invisible.
  if of and of.stage == batch.MAKING then return false end
  return list.worker == '' or is_workers(list, r)
end

-- Does a payload contain the text, as sent or decoded?
local function contains(list, raw, from)
  if raw:find(list.text, from, true) then return true end
  if not raw:find('\\', from, true) then return false end
  list.signs = list.signs or json_escapes.signs(list.text)
  if not json_escapes.may_hold(raw, list.signs) then return false end
  list.decoded = list.decoded + #raw
  return json_escapes.unescape(raw:sub(from)):find(list.text, 1, true) ~= nil
end

-- Does the payload or an error contain the text? Nil if the next call must look.
local function has_text(q, list, id, header, r)
  if list.text == '' or search.has_error(r, list.text) then return true end
  if list.decoded >= DECODED then return nil end
  if not record.is_external(header) then return contains(list, header.raw, header.stop) end
  if write.is_spent(q) or list.searched >= SEARCHED or list.bodies >= write.BODIES then return nil end
  local payload = write.ask(q, 'HGET', q.payloads, id) or ''
  list.bodies, list.searched = list.bodies + 1, list.searched + #payload
  return contains(list, payload, 1)
end

-- Adds a job to the page; false if the page or the budget is full.
local function put(q, list, id, header, r, raw, score)
  local at = r.state ~= record.BLOCKED and list.mark .. score or ''
  if list.is_in_batches then at = text.of(r.score) end
  if not job_page.put(q, list, id, header, r, raw, at) then return false end
  list.ranks[#list.page] = list.is_in_batches and score or list.looked
  return true
end

-- Looks at one entry. Returns whether to continue.
local function consider(q, list, member, score, header, live)
  header = header and not (score == list.after_score and is_passed(list, member)) and record.header(header)
  local id = place.id_of(member)
  local r = header
    and (live and record.live(live) or record.new(record.WAITING, -1, header.priority, header.stamp))
  if r and fits(q, list, id, header, r) then
    local found = has_text(q, list, id, header, r)
    if found == nil or found and not put(q, list, id, header, r, live or '', score) then return false end
  end
  list.last, list.looked = {score, member}, list.looked + 1
  return #list.page < list.limit
end

-- Looks at a part of the entries. Returns whether to continue.
local function look_at(q, list, entries, first, past)
  local ids = {}
  for i = first, past - 1, 2 do ids[#ids + 1] = place.id_of(entries[i]) end
  local headers, lives = redis.call('HMGET', q.jobs, unpack(ids)), redis.call('HMGET', q.live, unpack(ids))
  route.prefetch(q, ids, headers)
  for n = 1, #ids do
    local at = first + n * 2 - 2
    if write.is_spent(q) or not consider(q, list, entries[at], entries[at + 1], headers[n], lives[n]) then return false end
  end
  return true
end

-- Forgotten jobs count as before all that are left, so this number never shrinks for a job.
local function ended_before(q, list, from)
  if list.set ~= q.ended or list.is_in_batches then return '' end
  return tonumber(redis.call('HGET', q.totals, 'gone') or 0) + from
end

-- The next entries, the rank of the first, and whether these are the last of the set.
local function read(q, list)
  if list.is_in_batches then
    local entries, is_last = in_batches.read(q, list.after_score, list.after, LOOK)
    return entries, 0, is_last
  end
  local from = rank_after(q, list)
  local entries = redis.call('ZRANGE', list.set, from, from + LOOK - 1, 'WITHSCORES')
  return entries, from, #entries < LOOK * 2
end

-- The place before a set that continues the list, nil for none.
local function next_set(q, list)
  if list.set == q.inbound and redis.call('EXISTS', q.restricted) == 1 then
    list.mark = IN_RESTRICTED
    return {FIRST_SCORE, search.FIRST}
  end
  if list.is_of_worker and not list.is_in_batches and redis.call('EXISTS', q.timers) == 1 then
    return {in_batches.SCORE, in_batches.MEMBER}
  end
end

return function(q, args)
  local list = open(q, args)
  local entries, from, is_last = read(q, list)
  local all = true
  for first = 1, #entries, CHUNK * 2 do
    all = look_at(q, list, entries, first, math.min(first + CHUNK * 2, #entries + 1))
    if not all then break end
  end
  -- The last entry looked at may be the last of the set.
  local last = list.last or {list.after_score, list.after}
  local is_end = #entries == 0 or is_last and (all or last[2] == entries[#entries - 1])
  local next_place = is_end and next_set(q, list)
  if next_place then last, is_end = next_place, false end
  return {
    list.mark .. last[1], last[2], is_end and 1 or 0, list.bytes, list.full and 1 or 0, list.looked, list.page,
    ended_before(q, list, from), list.ranks,
  }
end
