-- reserve: where nothing is unusual. Each call takes what is next, nobody of them holds too much, there is enough for all,
-- and what comes is of no gate, skipped by nobody, and fits into one answer.
local record = require 'base/record'
local text = require 'base/text'
local patch = require 'base/patch'
local event = require 'base/event'
local total = require 'base/total'
local commit = require 'base/commit'
local hand = require 'jobs/hand'
local desk = require 'jobs/desk'
local turns = require 'plain/turns'
local STRIDE = 10
local MOST = 100
local RESERVED = text.short('reserved')
local call, unpack, sub, min, tonumber = redis.call, unpack, string.sub, math.min, tonumber
-- Room for the list, kept between calls: of each, only as much is read as this call has written.
local limits, ids, to_reserved, to_held, to_live, leave = {}, {}, {'ZADD'}, {'ZADD'}, {'HSET'}, {'ZREM'}

-- Does a caller hold anything of a queue that limits that, or has this very call been answered before?
local function has_something(q, worker, nonce, is_limited)
  local from = is_limited and worker .. '\0' or worker .. '\0' .. nonce .. '\0'
  return #call('ZRANGEBYLEX', q.held, '[' .. from, '(' .. sub(from, 1, -2) .. '\1', 'LIMIT', '0', '1') > 0
end

-- How many jobs the calls want in all, and how many calls; nil when one is not plain.
local function read_calls(q, args)
  local n, wanted, worker_limit = #args / STRIDE, 0, q.desk.worker_limit
  local met = n > 1 and {}
  for i = 1, n do
    local at = (i - 1) * STRIDE
    local worker, limit, mode = args[at + 1], tonumber(args[at + 3]), args[at + 5]
    if mode ~= 'next' and mode ~= 'fresh' or args[at + 10] ~= '' then return end
    if met and worker ~= '' then
      if met[worker] then return end
      met[worker] = true
    end
    local is_limited = worker ~= '' and worker_limit > 0
    if (is_limited or mode == 'next') and has_something(q, worker, args[at + 2], is_limited) then return end
    limits[i] = is_limited and min(limit, worker_limit) or limit
    wanted = wanted + limits[i]
  end
  return wanted, n
end

-- The first of the line, as many as are wanted; nil when there are fewer, or one is not plain.
local function read_line(q, wanted)
  local entries = call('ZRANGE', q.inbound, '0', text.of(wanted - 1), 'WITHSCORES')
  if #entries < wanted * 2 then return end
  for i = 1, wanted do ids[i] = sub(entries[i * 2 - 1], -$ID_LEN) end
  local raws, lives = call('HMGET', q.jobs, unpack(ids, 1, wanted)), call('HMGET', q.live, unpack(ids, 1, wanted))
  local bytes = 0
  for i = 1, wanted do
    local raw, live = raws[i], lives[i]
    if not raw or not patch.has_no_gate(raw) or not patch.is_whole(raw) or live and not patch.has_no_skips(live) then
      return
    end
    bytes = bytes + #raw
  end
  if bytes <= hand.BYTES then return entries, raws, lives end
end

-- Hands a job out to a call: its j-th, and the i-th of all. Answers what is shown of it.
local function give(q, one, i, j, raw, live, member, score, drafts)
  local id, k = ids[i], i * 2 + 1
  local has_own = one.asked == 0 and patch.has_lease(raw)
  if has_own or not one.terms then
    local lease_ms = one.asked > 0 and one.asked or has_own and record.header(raw).lease_ms or q.desk.lease_ms
    one.terms = one.nonce .. patch.terms(q.now, lease_ms, one.named)
    one.due = text.of(desk.capped(q, q.now + lease_ms, q.now))
  end
  local lease = sub(one.secrets, (j - 1) * $ID_LEN + 1, j * $ID_LEN) .. sub(one.digests, j * 8 - 7, j * 8) .. one.terms
  local packed, client = patch.reserve(raw, live, score, lease), patch.client(raw)
  if has_own then one.terms = nil end
  to_reserved[k], to_reserved[k + 1] = one.due, id
  to_held[k], to_held[k + 1] = '0', one.member .. id
  to_live[k], to_live[k + 1] = id, packed
  leave[i + 2] = member
  turns.serve(score, patch.is_unserved(live), sub(client, 2))
  q.tale[i] = RESERVED .. id .. one.named .. client .. '\0\0'
  local draft = live and hand.draft_for(one.worker, drafts[i], q.desk.shares_drafts) or ''
  return hand.packed(id, raw, '', packed, one.due, draft)
end

-- What was typed of each, if any of them was somebody's before.
local function read_drafts(q, n, lives)
  for i = 1, n do
    if lives[i] then return call('HMGET', q.drafts, unpack(ids, 1, n)) end
  end
end

local function write(q, n)
  to_reserved[2], to_held[2], to_live[2], leave[2] = q.reserved, q.held, q.live, q.inbound
  call(unpack(to_reserved, 1, n * 2 + 2))
  call(unpack(to_held, 1, n * 2 + 2))
  call(unpack(to_live, 1, n * 2 + 2))
  call(unpack(leave, 1, n + 2))
  turns.write_served(q)
end

return function(q, args)
  desk.open(q)
  if q.desk.is_paused or desk.is_overdue(q) then return end
  local wanted, n = read_calls(q, args)
  if not wanted or wanted == 0 or wanted > MOST then return end
  local entries, raws, lives = read_line(q, wanted)
  if not entries then return end

  turns.open()
  local i, replies, drafts = 0, {}, read_drafts(q, wanted, lives)
  for c = 1, n do
    local at = (c - 1) * STRIDE
    local worker, nonce = args[at + 1], args[at + 2]
    local one = {
      worker = worker, named = text.short(worker), nonce = nonce, member = worker .. '\0' .. nonce .. '\0',
      asked = tonumber(args[at + 4]), secrets = args[at + 7], digests = args[at + 8], terms = nil, due = nil,
    }
    i = i + 1
    local given = {'new', give(q, one, i, 1, raws[i], lives[i], entries[i * 2 - 1], tonumber(entries[i * 2]), drafts)}
    for j = 2, limits[c] do
      i = i + 1
      given[j + 1] = give(q, one, i, j, raws[i], lives[i], entries[i * 2 - 1], tonumber(entries[i * 2]), drafts)
    end
    replies[c] = given
  end
  write(q, wanted)
  event.told(q, 'reserved', wanted)
  total.count(q, 'handed_out', wanted)
  return commit(q, function() return desk.answer(q, replies, false) end)
end
