-- unname: an operator takes the name of a worker out of what a queue keeps, one bounded step: out of its jobs, the list of actions, and
--         what webhooks have still to be sent. Its events follow: `expunge`.   waiting -> waiting | blocked
-- FLAGS  allow-oom
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · restricted zset ·
-- KEYS   lines zset · jobs hash · live hash · results hash · drafts hash · gates hash · batches hash ·
-- KEYS   timers zset · routes hash · alarms zset · settings hash · totals hash · events stream ·
-- KEYS   deliveries zset · bodies hash · actions hash · erasures hash · hints channel
-- ARGV   worker, the same as JSON writes it, without quotes; 'begin' | 'continue' | 'announce': only the beginning is noted
-- REPLY  {more (0 | 1), how many jobs have changed, how many deliveries}
local write = require 'base/write'
local commit = require 'base/commit'
local erasures = require 'base/erasures'
local unnaming = require 'jobs/unnaming'
local BESIDES = 20 -- fixed commands of a step

local function last_event(q)
  return redis.call('XREVRANGE', q.events, '+', '-', 'COUNT', '1')[1]
end

return function(q, args)
  write.spend(q, BESIDES)
  local name, own = args[1], nil
  if args[3] == 'continue' then own = erasures.parse(redis.call('HGET', q.erasures, name)) end
  if own and (own.stage == erasures.EVENTS or own.stage == erasures.BODIES) then return {0, 0, 0} end
  local walk = own or {stage = unnaming.STAGES[1], score = '', member = ''}
  walk.name, walk.json = name, args[2]
  if args[3] == 'announce' then
    erasures.write(q, name, walk)
    return {1, 0, 0}
  end
  unnaming.step(q, walk)
  local more = walk.stage ~= nil
  local reply = commit(q, {more and 1 or 0, walk.jobs, walk.deliveries})
  -- With the events of this step, which have no worker.
  local last = not more and last_event(q)
  if last then walk.stage, walk.score, walk.member = erasures.EVENTS, last[1], '' end
  if more or last then erasures.write(q, name, walk) else erasures.forget(q, name) end
  return reply
end
