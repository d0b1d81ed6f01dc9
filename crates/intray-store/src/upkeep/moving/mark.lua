#!lua flags=allow-oom
-- mark: replaces the registry by a text with the stage of the move. No new queue can be created, and a call for a queue
-- reports the target. The names in the registry follow the first line until all have moved.
-- KEYS   registry zset | string
-- ARGV   'leaving' | 'switching' | 'left', run, epoch of the target, its place
-- REPLY  {'leaving' | 'switching' | 'left' | 'elsewhere' | 'taken', first line, names and when each was last seen}
local stage, run, target, place = unpack(ARGV)
local was, by, to, listed
if redis.call('TYPE', KEYS[1]).ok == 'string' then
  local text = redis.call('GET', KEYS[1])
  local first, rest = text:match('^([^\n]*)(.*)$')
  was, by, to, place = first:match('^(%S+) (%S+) (%S+) (.*)$')
  listed = rest
  if to ~= target then return {'elsewhere', first, ''} end
  if was == 'left' then return {was, first, ''} end
  if stage == 'leaving' then
    stage = was
  elseif by ~= run then
    return {'taken', first, ''}
  end
elseif stage ~= 'leaving' then
  return {'taken', '', ''} -- it was called off
else
  local all, lines = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES'), {''}
  for i = 1, #all, 2 do lines[#lines + 1] = all[i + 1] .. ' ' .. all[i] end
  listed = table.concat(lines, '\n')
end
if stage == 'left' then listed = '' end
local first = table.concat({stage, run, target, place}, ' ')
redis.call('SET', KEYS[1], first .. listed)
return {stage, first, listed}
