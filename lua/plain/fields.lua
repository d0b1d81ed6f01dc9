-- fields: some fields of a hash, the names from a place in a list on. One alone is asked for as one, which makes no table:
-- it comes in `room`.
local call, unpack = redis.call, unpack

return function(key, names, from, n, room)
  if n > 1 then return call('HMGET', key, unpack(names, from, from + n - 1)) end
  room[1] = call('HGET', key, names[from])
  return room
end
