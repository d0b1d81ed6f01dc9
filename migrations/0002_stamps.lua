#!lua flags=allow-oom
-- 0002: equal places go by arrival, and what has ended by a clock that only grows. Every key has the layout's number in its
-- name. Under each old name a text is left, so that a script of the first layout fails at its first read. Records are
-- rewritten a few at a time; the first byte of a job's header says whether that was done, so any part may run again.
-- KEYS   'registry': registry as it was, as it is · 'queue': all keys of a queue as they were, then as they are ·
-- KEYS   'jobs': all keys of a queue as they are · 'version': layout string
-- ARGV   'registry' | 'queue' | 'jobs' cursor | 'version' version that this step makes
-- REPLY  where to go on with 'jobs' ('0' = the end) | 'OK'
local MOVED = 'moved to layout 2: see intray migrate'
local NAMES = {
  'inbound', 'reserved', 'delayed', 'dead', 'ended', 'parked', 'held', 'turns', 'jobs', 'payloads', 'live', 'results',
  'drafts', 'dedupe', 'gates', 'batches', 'timers', 'tops', 'settings', 'totals', 'history', 'events',
}
local PER_MS, SPAN, SOME = 64, 2 ^ 46, 100
local CLIENT, STUB, MEMBER, UNSERVED = 2, 256, 1024, 128
local WAITING, BLOCKED, RESERVED, COMPLETED, DEAD, CANCELLED = 1, 2, 4, 5, 6, 7

local function digits(number)
  return string.format('%.0f', number)
end

-- What is there goes to its new name. Turns are counted anew as the jobs are rewritten.
local function move(name, from, to)
  local kind = redis.call('TYPE', from).ok
  if kind == 'string' then return end
  if name == 'turns' then
    redis.call('UNLINK', from)
  elseif kind ~= 'none' and redis.call('RENAMENX', from, to) == 0 then
    error(to .. ' is there already, so ' .. from .. ' was left as it is', 0)
  end
  redis.call('SET', from, MOVED)
end

if ARGV[1] == 'registry' then
  move('registry', KEYS[1], KEYS[2])
  return 'OK'
elseif ARGV[1] == 'queue' then
  for i, name in ipairs(NAMES) do move(name, KEYS[i], KEYS[#NAMES + i]) end
  return 'OK'
elseif ARGV[1] == 'version' then
  if tonumber(redis.call('GET', KEYS[1]) or 0) < tonumber(ARGV[2]) then redis.call('SET', KEYS[1], ARGV[2]) end
  return 'OK'
end

local key = {}
for i, name in ipairs(NAMES) do key[name] = KEYS[i] end
local last = tonumber(redis.call('HGET', key.totals, 'stamp') or 0)
local given = last

-- A time becomes the first stamp of its ms.
local function stamp_of(ms)
  last = math.max(last, ms * PER_MS)
  return ms * PER_MS
end

local function rescore(set, id)
  local at = redis.call('ZSCORE', set, id)
  if at then redis.call('ZADD', set, digits(stamp_of(tonumber(at))), id) end
end

-- A job that nobody has had yet counts among its client's.
local function count_turn(score, client)
  local priority = math.floor(score / SPAN)
  local member, turn = priority .. ' ' .. client, score - priority * SPAN
  local raw, latest, jobs = redis.call('HGET', key.turns, member), 0, 0
  if raw then latest, jobs = struct.unpack('>I6I4', raw) end
  redis.call('HSET', key.turns, member, struct.pack('>I6I4', math.max(latest, turn), jobs + 1))
end

local function back_in_line(id, score, in_line)
  redis.call('ZREM', key.inbound, id)
  redis.call('ZADD', key.inbound, digits(score), in_line)
end

local function park_again(id, score, gate, in_line)
  local at = gate .. '\0' .. string.format('%016x', score) .. '\0'
  redis.call('ZREM', key.parked, at .. id)
  redis.call('ZADD', key.parked, 0, at .. in_line)
end

-- Of a reservation that ended nobody knows any more since when it was out.
local function with_times(ring)
  local new, at = '', 1
  while at <= #ring do
    local digest, how, ended_at, worker, stop = struct.unpack('>c8BI6Bc0', ring, at)
    new, at = new .. struct.pack('>c8BI6I6Bc0I2c0', digest, how, ended_at, 0, #worker, worker, 0, ''), stop
  end
  return new
end

local function rewrite_live(id, raw, stamp, flags, client)
  local _, state, score, priority, handed_out, stop = struct.unpack('>BBdBI4', raw)
  local counts = raw:sub(stop, stop + 21) -- four counters, attempts, late results
  local hold, ring, errors, gate, skips = struct.unpack('>Bc0I2c0I2c0I2c0I2c0', raw, stop + 22)
  local in_line = struct.pack('>I6', stamp) .. id
  local is_unserved = score >= 0 and handed_out == 0 and state <= RESERVED
  if is_unserved then count_turn(score, client) end
  if state == WAITING then back_in_line(id, score, in_line) end
  if state == BLOCKED then park_again(id, score, gate, in_line) end
  if state == DEAD then rescore(key.dead, id) end
  if state == COMPLETED or state == CANCELLED then
    if bit.band(flags, MEMBER) ~= 0 then score = stamp_of(score) else rescore(key.ended, id) end
  end
  ring = with_times(ring)
  redis.call('HSET', key.live, id, struct.pack('>BBdI6BI4', 2, state, score, stamp,
    priority + (is_unserved and UNSERVED or 0), handed_out) .. counts .. struct.pack('>Bc0I2c0I2c0I2c0I2c0', #hold, hold,
    #ring, ring, #errors, errors, #gate, gate, #skips, skips))
end

local function rewrite(id, header)
  local _, at, flags, _, stop = struct.unpack('>BI6I2B', header)
  local stamp, client = stamp_of(at), ''
  if bit.band(flags, CLIENT) ~= 0 then client = struct.unpack('>Bc0', header, stop) end
  local raw = redis.call('HGET', key.live, id)
  if bit.band(flags, STUB) ~= 0 then
    rescore(key.ended, id)
  elseif raw then
    rewrite_live(id, raw, stamp, flags, client)
  else
    local score = tonumber(redis.call('ZSCORE', key.inbound, id))
    if score then
      back_in_line(id, score, struct.pack('>I6', stamp) .. id)
      count_turn(score, client)
    end
  end
  redis.call('HSET', key.jobs, id, struct.pack('>BI6', 2, stamp) .. header:sub(8))
end

local some = redis.call('HSCAN', key.jobs, ARGV[2], 'COUNT', SOME)
for i = 1, #some[2], 2 do
  if some[2][i + 1]:byte() == 1 then rewrite(some[2][i], some[2][i + 1]) end
end
if last > given then redis.call('HSET', key.totals, 'stamp', digits(last)) end
return some[1]
