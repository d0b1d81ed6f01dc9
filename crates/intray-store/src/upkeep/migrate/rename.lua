#!lua flags=allow-oom
-- rename: gives keys the names of the next layout. Under each old name a text is left, so that a script of the older layout
-- fails at its first read, before it writes. It may run again.
-- KEYS   old names, then the new names in the same order
-- ARGV   the text
-- REPLY  'OK'
local count = #KEYS / 2
for i = 1, count do
  local old, new = KEYS[i], KEYS[count + i]
  local kind = redis.call('TYPE', old).ok
  if kind ~= 'string' then
    if kind ~= 'none' and redis.call('RENAMENX', old, new) == 0 then
      error(new .. ' is there already, so ' .. old .. ' was left as it is', 0)
    end
    redis.call('SET', old, ARGV[1])
  end
end
return 'OK'
