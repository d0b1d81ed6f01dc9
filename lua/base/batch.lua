-- batch: one request split into many jobs. Its record counts them by state, and the counts move with each of them.
-- The format of the record, the stages and the marks come from crates/intray-store/src/record_fields/batch_fields.rs.
local record = require 'base/record'
local clock = require 'base/clock'
local text = require 'base/text'
local write = require 'base/write'
local event = require 'base/event'
local batch = {
  $BATCH_STAGES,
  -- Subtracted from the end of a finished batch as its score in `timers`, so that these sort before all running timers.
  OVER = 1125899906842624,
  -- Marks: seal it once it is open; cancel its jobs that are not reserved.
  $BATCH_MARKS,
  -- An open batch that gets no job for so long is sealed, ms.
  IDLE = clock.DAY,
}
local WAITING, BLOCKED, DELAYED, RESERVED = record.WAITING, record.BLOCKED, record.DELAYED, record.RESERVED
local SEALED, ALL_DONE, SOME_DEAD, WITHDRAWN = batch.SEALED, batch.ALL_DONE, batch.SOME_DEAD, batch.WITHDRAWN
local NOTES = {[ALL_DONE] = 'completed', [SOME_DEAD] = 'failed', [WITHDRAWN] = 'cancelled'}
local RECORD = '$BATCH_FORMAT'
local STALLED, IDLE, INHERITED = clock.MINUTE, batch.IDLE, $INHERITED
local band, floor, sub = bit.band, math.floor, string.sub

-- It is sealed, and none of its jobs can be handed out again.
local function ends_now(b)
  local counts = b.counts
  return b.stage == SEALED and counts[WAITING] + counts[BLOCKED] + counts[DELAYED] + counts[RESERVED] == 0
end

-- Ends a batch, once. Its gate goes.
local function finish(q, code, b)
  local now = clock.now(q)
  b.stage = batch.is_marked(b, batch.TO_CANCEL) and WITHDRAWN or b.counts[record.DEAD] > 0 and SOME_DEAD or ALL_DONE
  b.ended_at, b.cursor = now, 0
  event.add(q, 'batch-completed', code, '', {flags = 0, client = b.client}, NOTES[b.stage])
  write.delete(q, 'gates', '\0' .. code)
  write.add(q, 'timers', text.of(now - batch.OVER), code)
end

-- Writes the changed batches, in the order of their first change.
local function write_batches(q)
  local state = q.batch
  for _, code in ipairs(state.order) do
    local b = state.moved[code]
    if b then
      if ends_now(b) then finish(q, code, b) end
      write.set(q, 'batches', code, batch.pack(b))
    end
  end
end

-- Batches by code: those read (false for none), and those changed, whose codes `order` lists.
local function state_of(q)
  local state = q.batch
  if not state then
    state = {seen = {}, moved = {}, order = {}}
    q.batch = state
    write.at_commit(q, write_batches)
  end
  return state
end

function batch.read(q, code)
  local seen = state_of(q).seen
  if seen[code] ~= nil then return seen[code] end
  local raw = write.ask(q, 'HGET', q.batches, code)
  seen[code] = raw and batch.unpack(raw)
  return seen[code]
end

-- Reads many at once.
function batch.prefetch(q, codes)
  local seen, raws = state_of(q).seen, write.ask(q, 'HMGET', q.batches, unpack(codes))
  for i, code in ipairs(codes) do
    if seen[code] == nil then seen[code] = raws[i] and batch.unpack(raws[i]) end
  end
end

-- `total`: jobs so far; `expected`: jobs of its creation; `cursor`: progress of a long operation.
function batch.unpack(raw)
  local b, _ = {counts = {}}, nil
  _, b.stage, b.marks, b.priority, b.created_at, b.sealed_at, b.ended_at, b.expected, b.total, b.cursor,
    b.concurrency, b.counts[1], b.counts[2], b.counts[3], b.counts[4], b.counts[5], b.counts[6], b.counts[7],
    b.fingerprint, b.client = struct.unpack(RECORD, raw)
  return b
end

function batch.pack(b)
  return struct.pack(RECORD, 1, b.stage, b.marks, b.priority, b.created_at, b.sealed_at, b.ended_at, b.expected,
    b.total, b.cursor, b.concurrency, b.counts[1], b.counts[2], b.counts[3], b.counts[4], b.counts[5], b.counts[6],
    b.counts[7], b.fingerprint, #b.client, b.client)
end

-- Marks it to be written at commit.
function batch.changed(q, code, b)
  local state = state_of(q)
  if not state.moved[code] then state.order[#state.order + 1] = code end
  state.moved[code] = b
end

-- It was removed, so nothing is written.
function batch.removed(q, code)
  state_of(q).moved[code] = nil
end

-- Those in the making, at most `limit`, with jobs that wait in lines: the timer of each is over within the time that a creation may stall.
function batch.in_the_making(q, limit)
  local found = {}
  local to = text.of(clock.now(q) + STALLED)
  for _, code in ipairs(redis.call('ZRANGE', q.timers, to, '0', 'BYSCORE', 'REV', 'LIMIT', '0', text.of(limit))) do
    local b = batch.read(q, code)
    if b and b.stage == batch.MAKING and b.counts[WAITING] > 0 then found[#found + 1] = code end
  end
  return found
end

-- A job's id is that of its batch, with its index and one in the last four digits.
local DIGITS, NO_INDEX = '$DIGITS', ('0'):rep($TAIL_LEN)

function batch.of(id)
  return sub(id, 1, $STEM_LEN) .. NO_INDEX
end

function batch.member(code, index)
  local n, tail = index + 1, ''
  for _ = 1, $TAIL_LEN do
    local digit = n % 32 + 1
    n, tail = floor(n / 32), sub(DIGITS, digit, digit) .. tail
  end
  return sub(code, 1, $STEM_LEN) .. tail
end

function batch.is_over(b)
  return b.stage > SEALED
end

-- The same, also if it ends in this call.
function batch.is_over_by_now(b)
  return batch.is_over(b) or ends_now(b)
end

-- A batch in the making or in removal is invisible.
function batch.is_seen(b)
  return b and b.stage ~= batch.MAKING and b.stage ~= batch.REMOVING
end

function batch.is_marked(b, mark)
  return band(b.marks, mark) ~= 0
end

-- `from` is nil for a job that is new.
function batch.count_move(q, id, from, to)
  local code = batch.of(id)
  local b = batch.read(q, code)
  if from then b.counts[from] = b.counts[from] - 1 end
  b.counts[to] = b.counts[to] + 1
  batch.changed(q, code, b)
end

-- A job changes its state.
function batch.enter(q, id, r, header, state)
  if record.is_member(header) then batch.count_move(q, id, r.state, state) end
  r.state = state
end

-- When the sweep looks at a batch next.
function batch.set_timer(q, code, at)
  redis.call('ZADD', q.timers, at, code)
end

-- It has more jobs, by its creation or not. The timer, because a creation may stop half-way and an open batch may be forgotten.
function batch.grow(q, code, b, by, making, now)
  b.total = b.total + by
  if not making then
    -- A batch that is still opening keeps its timer.
    if b.stage == batch.OPEN then batch.set_timer(q, code, now + IDLE) end
  elseif b.total < b.expected then
    batch.set_timer(q, code, now + STALLED)
  else
    b.stage = batch.OPENING
    batch.set_timer(q, code, now)
  end
end

-- The tail of a new job's record (base/record), with the batch's client, and its priority if the job has none of its own.
function batch.tail(b, tail)
  local flags, priority = struct.unpack('$TAIL_FORMAT', tail)
  if priority == INHERITED then priority = b.priority end
  if b.client == '' then return record.tail(flags, priority, sub(tail, $REST_AT)) end
  return record.tail(flags + record.CLIENT, priority, text.short(b.client) .. sub(tail, $REST_AT))
end

function batch.seal(q, code, b)
  b.stage, b.sealed_at = SEALED, clock.now(q)
  batch.set_timer(q, code, '+inf')
end

return batch
