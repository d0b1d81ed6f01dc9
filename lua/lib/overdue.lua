-- overdue: one bounded step of what time brings about: reservations past their deadline, delays that fell due.
-- USES   clock write record back order event
-- KEYS   reserved zset · delayed zset · jobs hash · live hash
local leave_delayed = begin('ZREM', delayed)

local function due(id, r, header)
  if r.score < 0 then arrive(r, r.priority, header.client) end
  add(leave_delayed, id)
  back_to_line(id, r, header)
  event('due', id, '', header, '')
end

-- How long ago the first of a set should have been moved.
local function lag(set, first)
  return first and now - tonumber(redis.call('ZSCORE', set, first)) or 0
end

-- Answers how many expired, fell due, and died, whether a further step would find more, and the longest lag.
local function overdue_step(most)
  local late = redis.call('ZRANGEBYSCORE', reserved, '-inf', now, 'LIMIT', 0, most)
  local ready = {}
  if #late < most then ready = redis.call('ZRANGEBYSCORE', delayed, '-inf', now, 'LIMIT', 0, most - #late) end
  local died, longest = 0, math.max(lag(reserved, late[1]), lag(delayed, ready[1]))
  if #late > 0 then
    local records, headers = redis.call('HMGET', live, unpack(late)), redis.call('HMGET', jobs, unpack(late))
    for i, id in ipairs(late) do
      local r = records[i] and headers[i] and read_live(records[i])
      if not r or r.hold == '' then
        add(leave_reserved, id) -- nobody holds it: it must not stand in the way of the others
      elseif expire(id, r, read_hold(r.hold), read_header(headers[i])) then
        died = died + 1
      end
    end
  end
  if #ready > 0 then
    local records, headers = redis.call('HMGET', live, unpack(ready)), redis.call('HMGET', jobs, unpack(ready))
    for i, id in ipairs(ready) do due(id, read_live(records[i]), read_header(headers[i])) end
  end
  return #late, #ready, died, #late + #ready >= most, longest
end
