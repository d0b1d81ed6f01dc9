-- bodies: what is kept of deliveries.
local bodies = {}
local call = redis.call

-- The field of a delivery's body. The other, by its id alone, says what became of it: that one changes, the body never.
function bodies.field(id)
  return id .. 'b'
end

-- Removes deliveries with what is kept of them.
function bodies.remove(q, ids)
  if #ids == 0 then return end
  local fields = {}
  for _, id in ipairs(ids) do fields[#fields + 1], fields[#fields + 2] = id, bodies.field(id) end
  call('ZREM', q.deliveries, unpack(ids))
  call('HDEL', q.bodies, unpack(fields))
end

return bodies
