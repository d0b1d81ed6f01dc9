-- complete: the holder reports success, in time or late.   reserved | waiting | blocked | dead -> completed
-- FLAGS  allow-oom if-small
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · parked zset · held zset ·
-- KEYS   restricted zset · lines zset · turns hash · jobs hash · live hash · results hash · drafts hash ·
-- KEYS   dedupe hash · gates hash · batches hash · timers zset · routes hash · alarms zset · tops hash ·
-- KEYS   settings hash · totals hash · events stream · hints channel
-- ARGV   per item 2: id; secret, digest of the secret, and behind them the result ('' = none)
-- REPLY  per item: its words, 'done', late (0 | 1) and how long it was held, ms | 'again' and late |
-- REPLY  'closed', 1 and how long it can still be taken back, ms: once more | {'closing', that}: another result |
-- REPLY  {'lost', how, state ('' = unknown)} |
-- REPLY  {'later'}: in the next script, as all behind it
local commit = require 'base/commit'
local items = require 'jobs/items'
local completion = require 'jobs/completion'
local STRIDE = 2

local function complete(q, args, at)
  return completion.decide(q, args[at], args[at + 1], 0, -1)
end

return function(q, args)
  items.read(q, args, STRIDE)
  items.prefetch_ends(q)
  return commit(q, items.each(q, args, STRIDE, complete))
end
