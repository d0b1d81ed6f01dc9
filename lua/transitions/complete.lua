-- complete: the holder reports success, in time or late, or for a time so that it can be taken back; or has a result that does not fit the
--           form of the queue.   reserved | waiting | blocked | dead -> completed, reserved -> reserved (for that time)
-- FLAGS  allow-oom if-small
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · held zset ·
-- KEYS   restricted zset · lines zset · turns hash · jobs hash · live hash · results hash · drafts hash ·
-- KEYS   dedupe hash · gates hash · batches hash · timers zset · routes hash · alarms zset · tops hash ·
-- KEYS   settings hash · totals hash · events stream · hints channel
-- ARGV   per item 3: id; secret, digest of the secret, and after them the result ('' = none); for how long it can be taken back, ms (0 = not;
-- ARGV   -1, -2 = the result does not fit, and would be final or not), and the resumes that the caller knows of (-1 = any): '' = 0 and -1
-- REPLY  per item: its words, 'done', late (0 | 1) and how long it was held, ms | 'again' and late | 'closed', 0, how long it can be taken back
-- REPLY  and how long it was held, ms | 'closed', 1 and how long it can still be taken back: once more | {'closing', that}: another result | {'undone'}: it was taken back since the caller looked |
-- REPLY  {'lost', how, state ('' = unknown)} | {'invalid'}: the result does not fit, and the completion would have counted: nothing changed |
-- REPLY  {'later'}: in the next script, as all after it
local commit = require 'base/commit'
local items = require 'jobs/items'
local completion = require 'jobs/completion'
local STRIDE = 3

local function complete(q, args, at)
  local undo_ms, resumes = 0, -1
  if args[at + 2] ~= '' then
    undo_ms, resumes = args[at + 2]:match('(%S+) (%S+)')
    undo_ms, resumes = tonumber(undo_ms), tonumber(resumes)
  end
  return completion.decide(q, args[at], args[at + 1], undo_ms, resumes)
end

return function(q, args)
  items.read(q, args, STRIDE)
  items.prefetch_ends(q)
  return commit(q, items.each(q, args, STRIDE, complete))
end
