-- overdue: one bounded step of what time brings about: reservations past their deadline, delays that fell due.
-- USES   clock write record gate back order event
-- KEYS   reserved zset · delayed zset · jobs hash · live hash
local leave_delayed = begin('ZREM', delayed)

local function due(id, r, header)
  if r.score < 0 then
    spend(2)
    arrive(r, r.priority, header.client)
  end
  add(leave_delayed, id)
  back_to_line(id, r, header)
  event('due', id, '', header, '')
end

-- How long ago the first of a set should have been moved.
local function lag(set, first)
  return first and now - tonumber(redis.call('ZSCORE', set, first)) or 0
end

-- What is known of the first of a set, as many as a step may move: {id, record, header} each. Who is no job goes.
local function read_first(set, most, stray)
  local ids, those = redis.call('ZRANGEBYSCORE', set, '-inf', now, 'LIMIT', 0, most), {}
  if #ids == 0 then return ids, those end
  local records, headers = redis.call('HMGET', live, unpack(ids)), redis.call('HMGET', jobs, unpack(ids))
  for i, id in ipairs(ids) do
    if records[i] and headers[i] then
      those[#those + 1] = {id = id, record = read_live(records[i]), header = read_header(headers[i])}
    else
      add(stray, id)
    end
  end
  foresee_gates(those)
  return ids, those
end

-- Answers how many expired, fell due, and died, whether a further step would find more, and the longest lag.
local function overdue_step(most)
  local late, held = read_first(reserved, most, leave_reserved)
  local expired, fell_due, died, longest = 0, 0, 0, lag(reserved, late[1])
  for _, job in ipairs(held) do
    if is_spent() then return expired, 0, died, true, longest end
    local r = job.record
    if r.hold == '' then
      add(leave_reserved, job.id) -- nobody holds it: it must not stand in the way of the others
    elseif expire(job.id, r, read_hold(r.hold), job.header) then
      died = died + 1
    end
    expired = expired + 1
  end
  if #late >= most then return expired, 0, died, true, longest end
  local ready, delayed_ones = read_first(delayed, most - #late, leave_delayed)
  longest = math.max(longest, lag(delayed, ready[1]))
  for _, job in ipairs(delayed_ones) do
    if is_spent() then return expired, fell_due, died, true, longest end
    if job.record.state == DELAYED then due(job.id, job.record, job.header) else add(leave_delayed, job.id) end
    fell_due = fell_due + 1
  end
  return expired, fell_due, died, #late + #ready >= most, longest
end
