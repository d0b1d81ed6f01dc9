#!lua flags=allow-oom
-- close: closes a queue. Its keys are renamed and a text takes the place of each, so that a script fails at its first read,
-- before it has written anything. A second close finds the time of the first.
-- KEYS   all keys of a queue, then the names that they get
-- ARGV   run, the target's place
-- REPLY  when it was closed, ms
local n, time = #KEYS / 2, redis.call('TIME')
local at = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
for i = 1, n do
  local kind = redis.call('TYPE', KEYS[i]).ok
  if kind == 'string' then
    at = redis.call('GET', KEYS[i]):match('^closed %S+ (%d+) ') or error(KEYS[i] .. ' is none of ours', 0)
  elseif kind ~= 'none' and redis.call('EXISTS', KEYS[n + i]) == 1 then
    error(KEYS[n + i] .. ' is there from an earlier move: remove it', 0)
  end
end
for i = 1, n do
  local kind = redis.call('TYPE', KEYS[i]).ok
  if kind ~= 'none' and kind ~= 'string' then redis.call('RENAME', KEYS[i], KEYS[n + i]) end
  redis.call('SET', KEYS[i], table.concat({'closed', ARGV[1], at, ARGV[2]}, ' '))
end
return at
