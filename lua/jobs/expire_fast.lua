-- expire_fast: expiry and end of delay for the usual job: no flag above the first nine, no grace, no completion that may be taken back, no
-- attempt limit reached. It
-- changes bytes of the record, which halves the work. jobs/overdue handles every other job.
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local record_bytes = require 'base/record_bytes'
local write = require 'base/write'
local event = require 'base/event'
local hint = require 'base/hint'
local total = require 'base/total'
local stamp = require 'base/stamp'
local order = require 'jobs/order'
local ended = require 'jobs/ended'
local back = require 'jobs/back'
local expire_fast = {}
local LAYOUT, CLIENT, LOCKS, HEAD = record.LAYOUT, record.CLIENT, record.LOCKS / 256, record_bytes.HEAD
local CLOSING = record.CLOSING
local EXPIRED = text.bytes[ended.EXPIRED]
local unpack_record, pack, byte, short = struct.unpack, struct.pack, string.byte, text.short
-- The header that an event needs, with the client of the current job.
local event_job = {flags = 0, client = ''}

local function client_of(raw, flags)
  return flags % 4 >= CLIENT and record_bytes.parts(raw, flags, record_bytes.PARTS) or ''
end

-- Cause and time of every expiry in this call, packed once.
local expired_at, expired_now = nil, nil
local function ended_now(q)
  local now = clock.now(q)
  if now ~= expired_at then expired_at, expired_now = now, EXPIRED .. pack('>I6', now) end
  return expired_now
end

-- Expires a reservation. Returns false, and changes nothing, if the job is not a usual one.
function expire_fast.expire(q, id, live, raw)
  local layout, _, high, flags = unpack_record(HEAD, raw)
  if layout ~= LAYOUT or high >= LOCKS or byte(live) ~= LAYOUT or record_bytes.has_attempts(flags) or not record_bytes.is_held(live) then return false end
  local score, arrival, counters = unpack_record(record_bytes.STANDING, live, record_bytes.STANDING_AT)
  local digest, nonce, since, marks, worker, stop = unpack_record(record_bytes.LEASED, live, record_bytes.LEASED_AT)
  if marks % 2 == record.GRACE or marks >= CLOSING then return false end
  local most = back.most_attempts(q)
  if most > 0 and record_bytes.attempts(counters) + 1 >= most then return false end

  write.set(q, 'live', id, record_bytes.expire(live, counters, stop, digest, ended_now(q), since, short(worker)))
  write.add(q, 'inbound', text.of(score), arrival .. id)
  write.remove(q, 'reserved', id)
  write.remove(q, 'held', worker .. '\0' .. nonce .. '\0' .. id)
  hint.became_ready(q, 1)
  event_job.client = client_of(raw, flags)
  event.add(q, 'expired', id, worker, event_job, '')
  total.count(q, 'expired')
  return true
end

-- Ends a delay. Returns false, and changes nothing, if the job is not a usual one.
function expire_fast.fall_due(q, id, live, raw)
  local layout, _, high, flags = unpack_record(HEAD, raw)
  local version, state, score = unpack_record('>BBd', live)
  if layout ~= LAYOUT or high >= LOCKS or version ~= LAYOUT or state ~= record.DELAYED then return false end

  event_job.client = client_of(raw, flags)
  if score < 0 then
    local priority, arrival = record_bytes.priority(live), stamp.new(q)
    if not order.is_loaded(q, priority, event_job.client) then write.spend(q, 2) end
    score = order.new_place(q, priority, event_job.client)
    live = record_bytes.arrive(live, score, arrival)
  else
    live = record_bytes.come_back(live)
  end
  write.set(q, 'live', id, live)
  write.add(q, 'inbound', text.of(score), record_bytes.member(live, id))
  write.remove(q, 'delayed', id)
  hint.became_ready(q, 1)
  event.add(q, 'due', id, '', event_job, '')
  return true
end

return expire_fast
