-- view: everything about a job, to read.
-- USES   write record place
-- KEYS   inbound zset · reserved zset · delayed zset · dead zset · ended zset · jobs hash · payloads hash ·
-- KEYS   live hash · results hash

-- {id, record, payload, live record, result, score in its set, late results …}; '' where there is none, nil for no job.
local function view(id)
  local record = redis.call('HGET', jobs, id)
  local header = record and read_header(record)
  if not header or is_stub(header) then return end
  local raw = redis.call('HGET', live, id) or ''
  local r = raw ~= '' and read_live(raw) or new_live(WAITING, -1, header.priority, header.stamp)
  local set = ({inbound, nil, delayed, reserved, ended, dead, ended})[r.state]
  local at = set and redis.call('ZSCORE', set, set == inbound and in_line(id, r.arrival) or id)
  if not at and (r.state == COMPLETED or r.state == CANCELLED) then at = digits(r.score) end
  local shown = {
    id, record, bit.band(header.flags, APART) ~= 0 and redis.call('HGET', payloads, id) or '', raw,
    redis.call('HGET', results, id) or '', at or '',
  }
  local kept = math.min(r.late, $LATE_RESULTS)
  for n = r.late - kept, r.late - 1 do
    shown[#shown + 1] = redis.call('HGET', results, id .. '\0' .. n % $LATE_RESULTS)
  end
  return shown
end
