-- action: what operators did in a queue, as far back as it is kept: a hash of numbered entries, and in `last` the number of the last
-- one. An entry is, between spaces, ms of its first and its last step, how many jobs or deliveries, length of the note; then the note as
-- the service wrote it, and the settings that changed.
local clock = require 'base/clock'
local text = require 'base/text'
local action = {}
local call, find = redis.call, string.find
local KEPT = $MAX_ACTIONS
local JOINED = clock.MINUTE -- an action on many jobs takes many calls, which are one entry

-- The entry with another step of the same action; nil if it is of another one.
local function joined(raw, now, count, rest)
  local _, stop, first, last, before = find(raw or '', '^(%d+) (%d+) (%d+) ')
  if not stop or raw:sub(stop + 1) ~= rest or now - tonumber(last) >= JOINED then return nil end
  return text.words(first, text.of(now), text.of(before + count), rest)
end

-- `note`: what is kept of the call; '' if it is not an operator's. An action that changed nothing is not kept.
function action.add(q, note, count, changes)
  if note == '' or count == 0 then return end
  local now, last = clock.now(q), tonumber(call('HGET', q.actions, 'last') or 0)
  local rest = text.words(text.of(#note), note .. (changes or ''))
  local entry = last > 0 and joined(call('HGET', q.actions, text.of(last)), now, count, rest)
  if entry then return call('HSET', q.actions, text.of(last), entry) end
  local spelled = text.of(now)
  call('HSET', q.actions, 'last', text.of(last + 1), text.of(last + 1), text.words(spelled, spelled, text.of(count), rest))
  if last >= KEPT then call('HDEL', q.actions, text.of(last + 1 - KEPT)) end
end

return action
