-- view: everything about a job, to read.
-- USES   write record place
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · jobs hash · payloads hash ·
-- KEYS   live hash · results hash

-- How many payloads and results are read to show a job.
local function bodies_of(header, r)
  return (bit.band(header.flags, APART) ~= 0 and 1 or 0) + (r.state == COMPLETED and 1 or 0) + math.min(r.late, $LATE_RESULTS)
end

-- {id, record, payload, live record, result, score in its set, late results …}; '' where there is none. `raw` is the live
-- record as it is kept, '' when there is none.
local function show(id, header, r, raw, at)
  local shown = {
    id, header.raw, bit.band(header.flags, APART) ~= 0 and ask('HGET', payloads, id) or '', raw, '', at or '',
  }
  local kept, fields = math.min(r.late, $LATE_RESULTS), {id}
  for n = r.late - kept, r.late - 1 do fields[#fields + 1] = id .. '\0' .. n % $LATE_RESULTS end
  if r.state ~= COMPLETED and kept == 0 then return shown end
  for i, body in ipairs(ask('HMGET', results, unpack(fields))) do
    if i == 1 then shown[5] = body or '' elseif body then shown[#shown + 1] = body end
  end
  return shown
end

-- When something was or will be, as the set that a job is in says it; of a batch's job that has ended, its record.
local function score_of(id, r)
  local set = ({inbound, nil, delayed, reserved, ended, dead, ended})[r.state]
  local at = set and redis.call('ZSCORE', set, set == inbound and in_line(id, r.arrival) or id)
  if not at and (r.state == COMPLETED or r.state == CANCELLED) then at = digits(r.score) end
  return at
end

-- Nil for no job.
local function view(id)
  local record = redis.call('HGET', jobs, id)
  local header = record and read_header(record)
  if not header or is_stub(header) then return end
  local raw = redis.call('HGET', live, id) or ''
  local r = raw ~= '' and read_live(raw) or new_live(WAITING, -1, header.priority, header.stamp)
  return show(id, header, r, raw, score_of(id, r))
end
