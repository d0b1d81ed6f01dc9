-- unnaming: the stages in which a name goes out of a queue, each a part at a time. Jobs are read in the order of their hashes, in which no
-- transition moves them: a job that is there all the time is met.
local text = require 'base/text'
local write = require 'base/write'
local unnamed = require 'base/unnamed'
local part = require 'jobs/part'
local erasure = require 'jobs/erasure'
local erased_bodies = require 'jobs/erased_bodies'
local unnaming = {STAGES = {'live', 'routes', 'actions', 'deliveries'}}
local LOOK = 100
-- The members of an operator's call that name workers, and those that are texts.
local IN_ACTIONS = {
  worker = 'name', from = 'name', to = 'name', assignees = 'name', excluded = 'name', reason = 'text', note = 'text', error = 'text',
  text = 'text',
}

-- The next part of a hash: its fields and values, and the place after it, '0' at the end.
local function scan(q, hash, place)
  local found = write.ask(q, 'HSCAN', hash, place ~= '' and place or '0', 'COUNT', LOOK)
  return found[2], found[1]
end

-- Returns whether that is the end. Where the budget is too small for a part, the next step reads it once more, and goes on after the last
-- job of this one.
local function change_jobs(q, walk, ids, next_place)
  local left, n, changed = {}, 0, 0
  table.sort(ids)
  for _, id in ipairs(ids) do
    if id > walk.member then left[#left + 1] = id end
  end
  if #left > 0 then n, changed = erasure.jobs(q, left, walk.name, walk.shares) end
  walk.jobs, walk.looked = walk.jobs + changed, walk.looked + math.max(n, 1)
  if n < #left then
    walk.member = left[n] or walk.member
    return false
  end
  walk.score, walk.member = next_place, ''
  return next_place == '0'
end

-- Jobs that were handed out once.
local function look_at_live(q, walk)
  local entries, next_place = scan(q, q.live, walk.score)
  local ids = {}
  for i = 1, #entries, 2 do ids[#ids + 1] = entries[i] end
  return change_jobs(q, walk, ids, next_place)
end

-- Jobs that never were, and the parts of batches.
local function look_at_routes(q, walk)
  local entries, next_place = scan(q, q.routes, walk.score)
  local ids, codes = {}, {}
  for i = 1, #entries, 2 do
    local raw = entries[i + 1]
    local named = raw:find(walk.name, 1, true) and (part.is_list(raw) and codes or ids)
    if named then named[#named + 1] = entries[i] end
  end
  part.unname(q, codes, walk.name)
  walk.looked = walk.looked + #entries / 2
  return change_jobs(q, walk, ids, next_place)
end

-- The entry of an operator's action without the name. The name of the key stays.
local function action_without(entry, name)
  local times, size, stop = entry:match('^(%d+ %d+ %d+) (%d+) ()')
  if not times then return entry end
  local past = stop + tonumber(size)
  local note = unnamed.json(entry:sub(stop, past - 1), name, IN_ACTIONS)
  return text.words(times, text.of(#note), note .. entry:sub(past))
end

-- From the newest entry on.
local function look_at_actions(q, walk)
  local newest = walk.score == '' and tonumber(write.ask(q, 'HGET', q.actions, 'last') or 0) or tonumber(walk.score)
  local numbers = {}
  for number = newest, math.max(newest - LOOK + 1, 1), -1 do numbers[#numbers + 1] = text.of(number) end
  if #numbers == 0 then return true end
  local is_any = false
  for i, entry in ipairs(write.ask(q, 'HMGET', q.actions, unpack(numbers))) do
    is_any = is_any or entry
    local new = entry and action_without(entry, walk.json)
    if new and new ~= entry then write.set(q, 'actions', numbers[i], new) end
  end
  walk.looked, walk.score = walk.looked + #numbers, text.of(newest - #numbers)
  return not is_any or newest <= #numbers
end

local LOOKS = {live = look_at_live, routes = look_at_routes, actions = look_at_actions, deliveries = erased_bodies.look}

local function next_stage(stage)
  for i, one in ipairs(unnaming.STAGES) do
    if one == stage then return unnaming.STAGES[i + 1] end
  end
end

-- `walk`: {name, json: the same as JSON writes it, stage, score, member}. Goes on until as many jobs are looked at as a step may, or the
-- budget is spent. At the end `walk.stage` is nil.
function unnaming.step(q, walk)
  walk.looked, walk.jobs, walk.deliveries = 0, 0, 0
  walk.shares = redis.call('HGET', q.settings, 'share_drafts') == '1'
  while walk.stage and walk.looked < LOOK and not write.is_spent(q) do
    if LOOKS[walk.stage](q, walk) then walk.stage, walk.score, walk.member = next_stage(walk.stage), '', '' end
  end
end

return unnaming
