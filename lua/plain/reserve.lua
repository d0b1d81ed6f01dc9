-- reserve: the fast path. Every call takes the next jobs and stays under its limit, its lines have enough for it, and these jobs
-- were skipped by no worker, exclude none of those who get them, fit into one reply, and their gates have room.
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local record_bytes = require 'base/record_bytes'
local event = require 'base/event'
local hint = require 'base/hint'
local fields_of = require 'base/fields'
local ask = require 'jobs/ask'
local draft = require 'jobs/draft'
local handout = require 'jobs/handout'
local reserve_context = require 'jobs/reserve_context'
local gate = require 'jobs/gate'
local order = require 'jobs/order'
local routing = require 'jobs/routing'
local members = require 'plain/members'
local merge = require 'plain/merge'
local turns, locks = order.turns, gate.locks
local STRIDE = 1
local MOST = 100
local NONE = {}
local LAYOUT, EXTERNAL, CLIENT = record.LAYOUT, record.EXTERNAL, record.CLIENT
local LOCKS, MEMBER, ROUTED = record.LOCKS / 256, record.MEMBER / 256, record.ROUTED / 256
local HEAD, CLAIM = record_bytes.HEAD, ask.CLAIM
local RESERVED, RESERVED_IN_BATCH = event.heads.reserved, event.heads_in_batch.reserved
local UNASKED, short = '0 0 0 0 -1', text.short -- a caller that gets jobs needs no reason
local call, pack, unpack_record, unpack, sub, min = redis.call, struct.pack, struct.unpack, unpack, string.sub, math.min
local tonumber = tonumber
-- Tables reused between calls; a call reads only the entries that it has written.
local limits, leases, nonces, workers, notes, skills, claims = {}, {}, {}, {}, {}, {}, {}
local places, ids, events, answer, settings, one_raw, one_live, one_draft, one_route = {}, {}, {}, {}, {}, {}, {}, {}, {}
-- Whether any job has locks, and how many belong to batches.
local has = {locks = false, members = 0}
local to_reserved, to_held, to_live, leave = {'ZADD'}, {'ZADD'}, {'HSET'}, {'ZREM'}
for i = 1, MOST do to_held[i * 2 + 1] = '0' end

-- Does the caller hold jobs in a queue with a worker limit, or was this very call answered before?
local function has_something(q, worker, nonce, is_limited)
  if is_limited then return call('ZLEXCOUNT', q.held, '[' .. worker .. '\0', '(' .. worker .. '\1') > 0 end
  return call('ZLEXCOUNT', q.held, '[' .. worker .. '\0' .. nonce .. '\0', '(' .. worker .. '\0' .. nonce .. '\1') > 0
end

-- How many jobs the calls want in total; nil if a call is unusual.
local function read_calls(q, args, n, d)
  local wanted, met, worker_limit = 0, n > 1 and {} or NONE, d.worker_limit
  for i = 1, n do
    local mode, limit, lease_ms, nonce, worker, access, at = unpack_record(ask.FORMAT, args[i])
    local behind = at + limit * CLAIM
    if mode > ask.FRESH or ask.goes_on(args[i], behind) then return end
    local is_limited = worker ~= '' and worker_limit > 0
    if worker ~= '' or mode == ask.NEXT then
      local caller = worker ~= '' and worker or nonce
      if met[caller] then return end
      if n > 1 then met[caller] = true end
    end
    if (is_limited or mode == ask.NEXT) and has_something(q, worker, nonce, is_limited) then return end
    if is_limited then limit = min(limit, worker_limit) end
    limits[i], leases[i], nonces[i], workers[i], claims[i], wanted = limit, lease_ms, nonce, worker, at, wanted + limit
    notes[i] = pack('>I2c0', #access, access)
    if d.is_routed then skills[i] = ask.skills(sub(args[i], behind)) end
  end
  return wanted
end

local function is_overdue(q, now)
  return call('ZCOUNT', q.reserved, '-inf', now) > 0 or call('ZCOUNT', q.delayed, '-inf', now) > 0
end

-- The first jobs in line; nil if it has fewer than wanted. Returns how many leave `inbound`.
local function read_line(q, wanted)
  local entries = call('ZRANGE', q.inbound, '0', text.of(wanted - 1), 'WITHSCORES')
  if #entries < wanted * 2 then return end
  for i = 1, wanted do
    local member = entries[i * 2 - 1]
    ids[i], leave[i + 2], places[i] = sub(member, -$ID_LEN), member, tonumber(entries[i * 2])
  end
  return wanted
end

-- The jobs that the calls get, in order; nil if there are too few.
local function find(q, n, wanted, is_routed)
  local in_inbound
  if is_routed then
    in_inbound = merge.find(q, n, workers, skills, limits, wanted, places, ids, leave)
  else
    in_inbound = read_line(q, wanted)
  end
  if not in_inbound then return end
  return in_inbound, fields_of(q.jobs, ids, 1, wanted, one_raw), fields_of(q.live, ids, 1, wanted, one_live)
end

-- Whether the i-th job may be handed out as any other by its route. A job that is in another line than everybody's leaves its lines.
local function note_route(i, raw, worker, is_apart)
  if not raw then return not is_apart end
  local own = routing.usual_route(raw)
  if not own or routing.excludes(own, worker) or (own.lines ~= nil) ~= is_apart then return false end
  return not is_apart or merge.leave(i, own.lines, places[i])
end

-- The draft of each job, if any of them was reserved before.
local function read_drafts(q, n, lives)
  for i = 1, n do
    if lives[i] then return fields_of(q.drafts, ids, 1, n, one_draft) end
  end
end

-- Appends the draft, if this caller may see it, after the other fields.
local function append_draft(at, owner, kept, shares_drafts)
  local shown = draft.shown(kept, owner, nil, shares_drafts)
  if shown == '' then return at end
  answer[at - 2], answer[at + 1], answer[at + 2], answer[at + 3] = answer[at - 2] .. handout.MORE, '', shown, ''
  return at + 3
end

-- Prepares all writes and the reply. Returns the length of the reply; nil if a job is unusual. The routes are read when the first job
-- that has one is met.
local function decide(q, args, n, d, now, wanted, raws, lives, drafts)
  has.locks, has.members = false, 0
  local i, at, size, known_ms, known_worker, known_client = 0, 2, 0, nil, nil
  local agreed, named, terms, due, due_word, rest, routes
  for c = 1, n do
    local worker, nonce, asked, from, begin = workers[c], nonces[c], leases[c], claims[c], at + 1
    at, answer[at + 2], known_client = at + 2, 'new', nil
    for _ = 1, limits[c] do
      i = i + 1
      local id, raw, live, k = ids[i], raws[i], lives[i], i * 2
      if not raw or live and not record_bytes.has_no_skips(live) then return end
      local layout, stamp, high, flags, priority = unpack_record(HEAD, raw)
      local score, most = places[i], d.is_routed and merge.most_turn(i)
      if high >= ROUTED then
        routes, high = routes or fields_of(q.routes, ids, 1, wanted, one_route), high - ROUTED
        if not note_route(i, routes[i], worker, most ~= false) then return end
      elseif most then
        return
      end
      if layout ~= LAYOUT or most and high > 0 or high > LOCKS + MEMBER or flags % 2 >= EXTERNAL then return end
      if high > 0 and not members.note_gates(has, id, raw, high, flags) then return end

      local client, lease_ms = flags % 4 >= CLIENT and record_bytes.parts(raw, flags, record_bytes.PARTS) or '', asked
      if asked == 0 then lease_ms = record_bytes.has_lease(flags) and record.header(raw).lease_ms or d.lease_ms end
      if lease_ms ~= known_ms then
        known_ms, known_worker, agreed = lease_ms, nil, record_bytes.terms(now, lease_ms)
        due = text.of(now + (d.max_hold > 0 and min(lease_ms, d.max_hold) or lease_ms))
        due_word = ' ' .. due
      end
      if worker ~= known_worker then
        known_worker, known_client, named = worker, nil, short(worker)
        terms = agreed .. named
      end
      if client ~= known_client then
        known_client, rest = client, named .. short(client) .. notes[c]
      end
      local claim = sub(args[c], from, from + CLAIM - 1)
      local packed = live and record_bytes.reserve_again(live, score, claim, nonce, terms)
        or record_bytes.reserve(stamp, priority, score, claim, nonce, terms)
      turns.serve(score, client, not live or record_bytes.is_unserved(live), most)
      to_reserved[k + 1], to_reserved[k + 2], to_held[k + 2] = due, id, worker .. '\0' .. nonce .. '\0' .. id
      to_live[k + 1], to_live[k + 2] = id, packed
      events[i * 3 - 2], events[i * 3 - 1], events[i * 3] = high < MEMBER and RESERVED or RESERVED_IN_BATCH, id, rest
      answer[at + 1], answer[at + 2], answer[at + 3] = id .. due_word, raw, packed
      at, from, size = at + 3, from + CLAIM, size + #raw
      if live then at = append_draft(at, draft.owner(worker, nonce), drafts[i], d.shares_drafts) end
    end
    answer[begin] = at - begin
    if d.is_routed then answer[begin + 1] = 'new ' .. merge.waiting(q, c) end
  end
  return size <= handout.BYTES and at
end

local function write(q, n, in_inbound, is_routed)
  to_reserved[2], to_held[2], to_live[2], leave[2] = q.reserved, q.held, q.live, q.inbound
  call(unpack(to_reserved, 1, n * 2 + 2))
  call(unpack(to_held, 1, n * 2 + 2))
  call(unpack(to_live, 1, n * 2 + 2))
  if has.locks then locks.take(q) end
  if has.members > 0 then members.reserve(q) end
  if in_inbound > 0 then call(unpack(leave, 1, in_inbound + 2)) end
  if is_routed then merge.write(q) end
  turns.write_served(q)
  event.publish(q, n, events)
  hint.publish(q, 0)
  call('HINCRBY', q.totals, 'handed_out', text.of(n))
end

return function(q, args)
  local n, now, d = #args / STRIDE, clock.read(), reserve_context.read(q, settings)
  if d.is_paused or is_overdue(q, text.of(now)) then return end
  local wanted = read_calls(q, args, n, d)
  if not wanted or wanted == 0 or wanted > MOST then return end
  local in_inbound, raws, lives = find(q, n, wanted, d.is_routed)
  if not in_inbound then return end
  turns.open()
  local length = decide(q, args, n, d, now, wanted, raws, lives, read_drafts(q, wanted, lives))
  if not length or has.locks and not locks.are_free(q) or has.members > 0 and not members.can_reserve(q) then return end

  write(q, wanted, in_inbound, d.is_routed)
  answer[1], answer[length + 1] = 'flat handed_out ' .. text.of(wanted), nil
  answer[2] = reserve_context.snapshot(d, now, call('ZCARD', q.inbound), UNASKED)
  return answer
end
