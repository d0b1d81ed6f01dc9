-- close: the holder reports success and may take that back for a time, says what it knows of the reservation, or has a result that does not
--        fit the form of the queue.
--        reserved -> reserved (for that time) | completed; late as in complete
-- FLAGS  allow-oom if-small
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · held zset ·
-- KEYS   restricted zset · lines zset · turns hash · jobs hash · live hash · results hash · drafts hash ·
-- KEYS   dedupe hash · gates hash · batches hash · timers zset · routes hash · alarms zset · tops hash ·
-- KEYS   settings hash · totals hash · events stream · hints channel
-- ARGV   per item 4: id; secret, digest of the secret, and behind them the result ('' = none); for how long it can be taken back, ms
-- ARGV   (0 = not, -1 = the result does not fit); the resumes that the caller knows of (-1 = any)
-- REPLY  per item: its words, as of complete, or 'closed', 0, how long it can be taken back and how long it was held, ms | 'closed', 1 and how
-- REPLY  long it can still be taken back: once more | {'closing', that}: another result | {'undone'}: it was taken back since the caller looked |
-- REPLY  {'lost', how, state ('' = unknown)} | {'invalid'}: the result does not fit, and the completion would have counted: nothing changed |
-- REPLY  {'later'}: in the next script, as all behind it
local commit = require 'base/commit'
local items = require 'jobs/items'
local completion = require 'jobs/completion'
local STRIDE = 4

local function close(q, args, at)
  return completion.decide(q, args[at], args[at + 1], tonumber(args[at + 2]), tonumber(args[at + 3]))
end

return function(q, args)
  items.read(q, args, STRIDE)
  items.prefetch_ends(q)
  return commit(q, items.each(q, args, STRIDE, close))
end
