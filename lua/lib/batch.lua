-- batch: one request split into many jobs. Its record counts them by state, and the counts move with each of them.
-- The twin of the record is src/queue/batch/record.rs.
-- USES   clock write record event
-- KEYS   gates hash · batches hash · timers zset
local MAKING, OPENING, OPEN, SEALED, ALL_DONE, SOME_DEAD, WITHDRAWN, REMOVING = 1, 2, 3, 4, 5, 6, 7, 8
-- In `timers`, by when it ended, before all whose timer runs: a batch that is over goes by the queue's retention then.
local OVER = 1125899906842624
local TO_SEAL, TO_CANCEL = 1, 2 -- marks: it is sealed once it is open; what is not reserved is cancelled
local RECORD = '>BBBBI6I6I6I4I4I4I4I4I4I4I4I4I4I4c8Bc0'
local batches_seen, batches_moved = {}, {}

-- `total`: jobs so far, of `expected` that its creation brings; `cursor`: how far a long work has come.
local function read_batch(code)
  if batches_seen[code] ~= nil then return batches_seen[code] end
  local raw, b = ask('HGET', batches, code), false
  if raw then
    b = {counts = {}}
    local _
    _, b.stage, b.marks, b.priority, b.created_at, b.sealed_at, b.ended_at, b.expected, b.total, b.cursor,
      b.concurrency, b.counts[1], b.counts[2], b.counts[3], b.counts[4], b.counts[5], b.counts[6], b.counts[7],
      b.fingerprint, b.client = struct.unpack(RECORD, raw)
  end
  batches_seen[code] = b
  return b
end

local function pack_batch(b)
  return struct.pack(RECORD, 1, b.stage, b.marks, b.priority, b.created_at, b.sealed_at, b.ended_at, b.expected,
    b.total, b.cursor, b.concurrency, b.counts[1], b.counts[2], b.counts[3], b.counts[4], b.counts[5], b.counts[6],
    b.counts[7], b.fingerprint, #b.client, b.client)
end

local function is_member(header)
  return bit.band(header.flags, MEMBER) ~= 0
end

-- A job's id is that of its batch, with its index and one in the last four digits.
local DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

local function batch_of(id)
  return id:sub(1, 22) .. '0000'
end

local function member_id(code, index)
  local n, tail = index + 1, ''
  for _ = 1, 4 do
    local digit = n % 32 + 1
    n, tail = math.floor(n / 32), string.sub(DIGITS, digit, digit) .. tail
  end
  return code:sub(1, 22) .. tail
end

local function is_over(b)
  return b.stage > SEALED
end

local function is_marked(b, mark)
  return bit.band(b.marks, mark) ~= 0
end

-- `from` is nil for a job that is new.
local function count_move(id, from, to)
  local code = batch_of(id)
  local b = read_batch(code)
  if from then b.counts[from] = b.counts[from] - 1 end
  b.counts[to] = b.counts[to] + 1
  batches_moved[code] = b
end

-- A job changes its state.
local function enter(id, r, header, state)
  if is_member(header) then count_move(id, r.state, state) end
  r.state = state
end

-- When the sweep looks at a batch next.
local function set_timer(code, at)
  redis.call('ZADD', timers, at, code)
end

-- The end of a batch is written once: when it is sealed and none of its jobs can be handed out any more.
local function end_batch(code, b)
  b.stage = is_marked(b, TO_CANCEL) and WITHDRAWN or b.counts[DEAD] > 0 and SOME_DEAD or ALL_DONE
  b.ended_at, b.cursor = now, 0
  local note = ({[ALL_DONE] = 'completed', [SOME_DEAD] = 'failed', [WITHDRAWN] = 'cancelled'})[b.stage]
  event('batch-completed', code, '', {flags = 0, client = b.client}, note)
end

local function seal(code, b)
  b.stage, b.sealed_at = SEALED, now
  set_timer(code, '+inf')
end

-- After everything else: nobody needs the gate of a batch that is over.
local function write_batches()
  local records, unneeded, ended_now = {'HSET', batches}, {'HDEL', gates}, {'ZADD', timers}
  for code, b in pairs(batches_moved) do
    local out = b.counts[WAITING] + b.counts[BLOCKED] + b.counts[DELAYED] + b.counts[RESERVED]
    if b.stage == SEALED and out == 0 then
      end_batch(code, b)
      add(unneeded, '\0' .. code)
      add(ended_now, digits(b.ended_at - OVER), code)
    end
    add(records, code, pack_batch(b))
  end
  for _, command in ipairs({records, unneeded, ended_now}) do
    if #command > 2 then ask(unpack(command)) end
  end
end
