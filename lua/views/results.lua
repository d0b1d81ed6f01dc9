-- results: the results of a batch, in the order of its jobs, a part of a page at a time.   reads only
-- FLAGS  no-writes
-- KEYS   live hash · results hash · gates hash · batches hash · timers zset · routes hash · events stream
-- ARGV   batch, index to begin with, limit, bytes of results that the page has already
-- REPLY  {'results', index to continue with (-1 = the end), bytes of the page, full (0 | 1), whether each job is for another worker
-- REPLY  (0 | 1), {state, result ('' = none), live record ('' = not completed)} …} | {'unknown'}
local record = require 'base/record'
local write = require 'base/write'
local batch = require 'base/batch'
local BODIES, CHUNK, BYTES = write.BODIES, 10, $RESERVE_BYTES
local COMPLETED, WAITING, STATES = record.COMPLETED, record.WAITING, record.STATES

-- The jobs of a part of the batch; their results are read as they are needed.
local function open(q, code, from, last)
  local list = {from = from, members = {}, states = {}, read = 0, results = {}}
  for index = from, last do list.members[#list.members + 1] = batch.member(code, index) end
  if #list.members == 0 then return list end
  list.lives = redis.call('HMGET', q.live, unpack(list.members))
  for i = 1, #list.members do list.states[i] = list.lives[i] and record.live(list.lives[i]).state or WAITING end
  return list
end

-- A few results at a time: they may be large.
local function read_on(q, list, first)
  local ids = {}
  for i = first, #list.members do
    if list.states[i] == COMPLETED then ids[#ids + 1] = list.members[i] end
    if #ids >= CHUNK then break end
  end
  list.read = list.read + #ids
  for i, result in ipairs(redis.call('HMGET', q.results, unpack(ids))) do list.results[ids[i]] = result or '' end
end

-- One more job on the page. False: the page ends before it, or (with 1) is full.
local function put(q, list, page, i)
  local id, is_completed = list.members[i], list.states[i] == COMPLETED
  if is_completed and not list.results[id] then
    if list.read + CHUNK > BODIES then return false, 0 end
    read_on(q, list, i)
  end
  local result, live = is_completed and list.results[id] or '', is_completed and list.lives[i] or ''
  if page[3] > 0 and page[3] + #result + #live > BYTES then return false, 1 end
  page[3] = page[3] + #result + #live
  page[#page + 1] = {STATES[list.states[i]], result, live}
  return true, 0
end

return function(q, args)
  local code, from, limit, bytes = args[1], tonumber(args[2]), tonumber(args[3]), tonumber(args[4])
  local b = batch.read(q, code)
  if not batch.is_seen(b) then return {'unknown'} end
  -- Under its code are the workers who have had a job of it.
  local is_shared = redis.call('HEXISTS', q.routes, code)
  local list, page = open(q, code, from, math.min(from + limit, b.total) - 1), {'results', -1, bytes, 0, is_shared}
  for i = 1, #list.members do
    local has_room, full = put(q, list, page, i)
    if not has_room then
      page[2], page[4] = from + i - 1, full
      return page
    end
  end
  if #list.members > 0 and from + #list.members < b.total then page[2] = from + #list.members end
  return page
end
