-- fields: reads `n` fields of a hash, whose names begin at `from` in a list. A single one is read by HGET into `room`, which makes
-- no table.
local call, unpack = redis.call, unpack

return function(key, names, from, n, room)
  if n > 1 then return call('HMGET', key, unpack(names, from, from + n - 1)) end
  room[1] = call('HGET', key, names[from])
  return room
end
