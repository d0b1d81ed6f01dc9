#!lua flags=allow-oom
-- claim: reserves a queue's keys at the target for this run of the move.
-- KEYS   mark string, all keys of the queue
-- ARGV   epoch of the source, run, 'again' = it was claimed before
-- REPLY  'claimed' | 'there': the target has such a queue | 'other': another move brings one | 'published'
local mark = redis.call('GET', KEYS[1])
if mark and mark:match('^%S+') ~= ARGV[1] then return 'other' end
if not mark and ARGV[3] == 'again' then return 'published' end
for i = 2, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 1 then return 'there' end
end
redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[2])
return 'claimed'
