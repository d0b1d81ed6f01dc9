-- mine: the waiting jobs of one worker, in order, a part of a page at a time: those assigned or handed over to the worker; with the
--       setting `browse`, all that the worker may have.   reads only
-- FLAGS  no-writes
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · restricted zset ·
-- KEYS   lines zset · jobs hash · payloads hash · live hash · results hash · gates hash · batches hash ·
-- KEYS   timers zset · routes hash · alarms zset · settings hash · totals hash · events stream · hints channel
-- ARGV   limit, worker, skills (none = '') as jobs/ask reads them, score and member of the one seen last ('' = from the start), bytes
-- ARGV   of bodies that the page has already
-- REPLY  as `list`
local record = require 'base/record'
local text = require 'base/text'
local write = require 'base/write'
local batch = require 'base/batch'
local ask = require 'jobs/ask'
local line = require 'jobs/line'
local job_page = require 'jobs/job_page'
local route = require 'jobs/route'
local routing = require 'jobs/routing'
local LOOK, FEW = 100, 20

-- Reads the lines. Each is read once, so that no job is looked at before one of another line that stands before it.
local function read_lines(q, list, from, member)
  local browses = redis.call('HGET', q.settings, 'browse') == '1'
  q.context = {is_routed = true}
  line.open(q)
  local call = {limit = LOOK, worker = list.worker, skills = browses and list.skills or {}}
  line.read_after(q, call, from, member, math.min(math.max(list.limit, FEW), LOOK), browses)
  q.line.looked = line.CANDIDATES
end

local function is_for(q, list, id, header)
  local of = record.is_member(header) and batch.read(q, batch.of(id))
  -- A batch in the making is invisible.
  if of and of.stage == batch.MAKING then return false end
  if not record.is_routed(header) then return true end
  line.prefetch_routes(q)
  return not route.is_over(q, id, header) and not routing.rule(q, id, header, list.worker, list.skills)
end

-- Looks at one entry. Returns whether to continue.
local function consider(q, list, entry)
  local id, score, live = entry.id, entry.place, entry.live
  local header = record.header(entry.raw)
  local r = live and record.live(live) or record.new(record.WAITING, score, header.priority, header.stamp)
  if is_for(q, list, id, header) and not job_page.put(q, list, id, header, r, live or '', text.of(score)) then return false end
  list.last, list.looked = {text.of(score), entry.member}, list.looked + 1
  line.pass(q)
  return #list.page < list.limit and not write.is_spent(q)
end

return function(q, args)
  local list = job_page.new(tonumber(args[1]), tonumber(args[6]))
  list.worker, list.skills, list.looked, list.last = args[2], ask.skills(args[3]), 0, {args[4], args[5]}
  read_lines(q, list, tonumber(args[4]), args[5])
  local continues = true
  while continues do
    local entry = line.current(q)
    continues = entry and consider(q, list, entry)
  end
  return {
    list.last[1], list.last[2], line.has_more(q) and 0 or 1, list.bytes, list.full and 1 or 0, list.looked, list.page, '', {},
  }
end
