-- expunge: deletes the events that name a worker whose name was taken out of the queue, one bounded step: when their readers have passed,
--          at the latest ten minutes later. An erasure that its caller has not continued for so long is given up.
-- FLAGS  allow-oom
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · restricted zset ·
-- KEYS   turns hash · alarms zset · tops hash · totals hash · events stream · cursors hash · deliveries zset ·
-- KEYS   bodies hash · erasures hash
-- ARGV   worker ('' = which are there?), the same as JSON writes it, without quotes
-- REPLY  {'names', name …} | {'more'} | {'waits'}: for readers, or for its caller | {'done'}
local erasures = require 'base/erasures'
local write = require 'base/write'
local erased_bodies = require 'jobs/erased_bodies'
local erased_events = require 'jobs/erased_events'

local function names(q)
  local found, entries = {'names'}, redis.call('HGETALL', q.erasures)
  for i = 1, #entries, 2 do found[#found + 1] = entries[i] end
  return found
end

-- Deliveries that were made of events before these were deleted.
local function clean_deliveries(q, name, json, own)
  local walk = {json = json, score = own.score, member = own.member, looked = 0, deliveries = 0}
  local is_over = erased_bodies.look(q, walk)
  write.commit(q)
  if is_over then return 'done' end
  own.score, own.member = walk.score, walk.member
  erasures.write(q, name, own)
  return 'more'
end

local function step(q, name, json, own)
  if own.stage == erasures.EVENTS then return erased_events.step(q, name, own) end
  if own.stage == erasures.BODIES then return clean_deliveries(q, name, json, own) end
  if not erasures.is_given_up(q, own) then return 'waits' end
  if own.since == 0 then return 'done' end
  -- The events of a call before it still wait.
  own.stage, own.score, own.member = erasures.EVENTS, '', ''
  return erased_events.step(q, name, own)
end

return function(q, args)
  local name = args[1]
  if name == '' then return names(q) end
  local own = erasures.parse(redis.call('HGET', q.erasures, name))
  local how = own and step(q, name, args[2], own) or 'done'
  if own and how == 'done' then erasures.forget(q, name) end
  return {how}
end
