-- lapse: what time does to a job of which nothing is unusual, as most are: it needs no gate, and has no grace and no limit
-- that is reached. By its bytes, which is half of the work; jobs/overdue has the whole of it.
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local patch = require 'base/patch'
local write = require 'base/write'
local event = require 'base/event'
local hint = require 'base/hint'
local total = require 'base/total'
local stamp = require 'base/stamp'
local order = require 'jobs/order'
local history = require 'jobs/history'
local back = require 'jobs/back'
local lapse = {}
local LAYOUT, CLIENT, HEAD = record.LAYOUT, record.CLIENT, patch.HEAD
local EXPIRED = text.bytes[history.EXPIRED]
local unpack_record, pack, byte, short = struct.unpack, struct.pack, string.byte, text.short
-- What an event is to know of a job; its client is that of whom it is told.
local told_of = {flags = 0, client = ''}

local function client_of(raw, flags)
  return flags % 4 >= CLIENT and patch.parts(raw, flags, patch.PARTS) or ''
end

-- How and when the reservations of a call ended that end by their deadline.
local ended_at, ended = nil, nil
local function ended_now(q)
  local now = clock.now(q)
  if now ~= ended_at then ended_at, ended = now, EXPIRED .. pack('>I6', now) end
  return ended
end

-- A reservation past its deadline. Answers whether that was all.
function lapse.expire(q, id, live, raw)
  local layout, _, _, flags = unpack_record(HEAD, raw)
  if layout ~= LAYOUT or byte(live) ~= LAYOUT or patch.has_attempts(flags) or not patch.is_held(live) then return false end
  local score, arrival, counters = unpack_record(patch.STOOD, live, patch.STOOD_AT)
  local digest, nonce, since, marks, worker, stop = unpack_record(patch.LEASED, live, patch.LEASED_AT)
  if marks % 2 == record.GRACE then return false end
  local most = back.most_attempts(q)
  if most > 0 and patch.attempts(counters) + 1 >= most then return false end

  write.set(q, 'live', id, patch.expire(live, counters, stop, digest, ended_now(q), since, short(worker)))
  write.add(q, 'inbound', text.of(score), arrival .. id)
  write.remove(q, 'reserved', id)
  write.remove(q, 'held', worker .. '\0' .. nonce .. '\0' .. id)
  hint.became_ready(q, 1)
  told_of.client = client_of(raw, flags)
  event.tell(q, 'expired', id, worker, told_of, '')
  total.count(q, 'expired')
  return true
end

-- A delay that is over: the job has its place, or is given one. Answers whether that was all.
function lapse.fall_due(q, id, live, raw)
  local layout, _, _, flags = unpack_record(HEAD, raw)
  local version, state, score = unpack_record('>BBd', live)
  if layout ~= LAYOUT or version ~= LAYOUT or state ~= record.DELAYED then return false end

  told_of.client = client_of(raw, flags)
  if score < 0 then
    local priority, arrival = patch.priority(live), stamp.new(q)
    if not order.knows(q, priority, told_of.client) then write.spend(q, 2) end
    score = order.new_place(q, priority, told_of.client)
    live = patch.arrive(live, score, arrival)
  else
    live = patch.come_back(live)
  end
  write.set(q, 'live', id, live)
  write.add(q, 'inbound', text.of(score), patch.member(live, id))
  write.remove(q, 'delayed', id)
  hint.became_ready(q, 1)
  event.tell(q, 'due', id, '', told_of, '')
  return true
end

return lapse
