-- unname: an operator takes the name of a worker out of what a queue keeps, one bounded step: out of its jobs, the list of actions, and
--         what webhooks have still to be sent. Its events follow: `expunge`.   waiting -> waiting | blocked
-- FLAGS  allow-oom
-- KEYS   inbound zset · parked zset · restricted zset · lines zset · jobs hash · live hash · results hash ·
-- KEYS   drafts hash · gates hash · batches hash · timers zset · routes hash · alarms zset · settings hash ·
-- KEYS   totals hash · events stream · deliveries zset · bodies hash · actions hash · erasures hash · hints channel
-- ARGV   worker, the same as JSON writes it, without quotes; 'begin' | 'continue' | 'announce': only the beginning is noted;
-- ARGV   whose call: the queues that the caller may see
-- REPLY  {more (0 | 1), how many jobs have changed, how many deliveries}
local clock = require 'base/clock'
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
  local name = args[1]
  local walk
  local own = erasures.parse(redis.call('HGET', q.erasures, name))
  if own and args[3] == 'continue' then
    if erasures.is_left_to_expunge(own) then return {0, 0, 0} end
    walk = own
  else
    -- Events of a call before it wait no longer for that.
    walk = {stage = unnaming.STAGES[1], since = own and own.since or 0, last = own and own.last or '-', score = '', member = ''}
  end
  walk.name, walk.json, walk.by = name, args[2], args[4]
  if args[3] == 'announce' then
    erasures.write(q, name, walk)
    return {1, 0, 0}
  end
  unnaming.step(q, walk)
  local more = walk.stage ~= nil
  local reply = commit(q, {more and 1 or 0, walk.jobs, walk.deliveries})
  -- With the events of this step, which have no worker.
  local last = not more and last_event(q)
  if last then
    walk.stage, walk.last, walk.score, walk.member = erasures.EVENTS, last[1], '', ''
    if walk.since == 0 then walk.since = clock.now(q) end
  end
  if more or last then erasures.write(q, name, walk) else erasures.forget(q, name) end
  return reply
end
