-- unnaming: the stages in which a name goes out of a queue, each a part at a time. A job that moves between two sets is met in one of them:
-- reserved jobs are looked at before those that wait and after them, and what ends comes last in its set.
local text = require 'base/text'
local write = require 'base/write'
local batch = require 'base/batch'
local unnamed = require 'base/unnamed'
local place = require 'jobs/place'
local search = require 'jobs/search'
local part = require 'jobs/part'
local erasure = require 'jobs/erasure'
local erased_bodies = require 'jobs/erased_bodies'
local unnaming = {STAGES = {
  'reserved', 'parked', 'delayed', 'dead', 'inbound', 'restricted', 'again', 'ended', 'batches', 'actions', 'deliveries',
}}
local LOOK = 100
local call = redis.call
-- The members of an operator's call that name workers, and those that are texts.
local IN_ACTIONS = {
  worker = 'name', from = 'name', to = 'name', assignees = 'name', excluded = 'name', reason = 'text', note = 'text', error = 'text',
  text = 'text',
}

-- Reserved jobs are looked at twice.
local function sets_of(q)
  return {
    reserved = q.reserved, parked = q.parked, delayed = q.delayed, dead = q.dead, inbound = q.inbound, restricted = q.restricted,
    again = q.reserved, ended = q.ended,
  }
end

-- A part of the jobs of a set. Returns whether that is its end.
local function look_at_set(q, walk)
  local set = walk.sets[walk.stage]
  local from = search.rank_after(q, set, walk.score, walk.member)
  local entries, ids = write.ask(q, 'ZRANGE', set, from, from + LOOK - 1, 'WITHSCORES'), {}
  for i = 1, #entries, 2 do ids[#ids + 1] = place.id_of(entries[i]) end
  if #ids == 0 then return true end
  local n, changed = erasure.jobs(q, ids, walk.name, walk.stage ~= 'ended' and walk.stage ~= 'dead', walk.shares)
  walk.jobs, walk.looked = walk.jobs + changed, walk.looked + n
  if n > 0 then walk.member, walk.score = entries[n * 2 - 1], entries[n * 2] end
  return n == #ids and n < LOOK
end

-- From the last timer to the first: a batch that ends meanwhile moves to a place that is still to come. Returns the code of the next batch;
-- nil for none.
local function next_batch(q, walk, code)
  local from = 0
  if walk.score ~= '' then
    local rank = call('ZSCORE', q.timers, code) == walk.score and call('ZRANK', q.timers, code)
    from = rank and call('ZCARD', q.timers) - rank or call('ZCOUNT', q.timers, '(' .. walk.score, '+inf')
  end
  write.spend(q, 4)
  local found = call('ZRANGE', q.timers, from, from, 'REV', 'WITHSCORES')
  walk.score = found[2] or walk.score
  return found[1]
end

-- The jobs of a batch, in any state.
local function look_at_batch(q, walk)
  local code, index = walk.member:sub(1, $ID_LEN), tonumber(walk.member:sub($ID_LEN + 1)) or -1
  local b = index >= 0 and batch.read(q, code)
  if not b or index >= b.total then
    code, index = next_batch(q, walk, code), 0
    if not code then return true end
    b = batch.read(q, code)
    if not b then
      walk.member = code
      return false
    end
    part.unname(q, code, walk.name)
  end
  local ids = {}
  for i = index, math.min(index + LOOK, b.total) - 1 do ids[#ids + 1] = batch.member(code, i) end
  local n, changed = 0, 0
  if #ids > 0 then n, changed = erasure.jobs(q, ids, walk.name, true, walk.shares) end
  walk.jobs, walk.looked = walk.jobs + changed, walk.looked + n
  walk.member = code .. text.of(index + n)
  return false
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

local OTHERS = {batches = look_at_batch, actions = look_at_actions, deliveries = erased_bodies.look}

local function next_stage(stage)
  for i, one in ipairs(unnaming.STAGES) do
    if one == stage then return unnaming.STAGES[i + 1] end
  end
end

-- `walk`: {name, json: the same as JSON writes it, stage, score, member}. Goes on until as many jobs are looked at as a step may, or the
-- budget is spent. At the end `walk.stage` is nil.
function unnaming.step(q, walk)
  walk.looked, walk.jobs, walk.deliveries, walk.sets = 0, 0, 0, sets_of(q)
  walk.shares = call('HGET', q.settings, 'share_drafts') == '1'
  while walk.stage and walk.looked < LOOK and not write.is_spent(q) do
    local look = OTHERS[walk.stage] or look_at_set
    if look(q, walk) then walk.stage, walk.score, walk.member = next_stage(walk.stage), '', '' end
  end
end

return unnaming
