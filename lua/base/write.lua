-- write: what a call decides goes out together at its end: first all that comes into a key, then all that leaves one, so
-- that what came and left in one call is gone. And how many commands a call has made by what it met.
local write = {}
local call, unpack = redis.call, unpack

-- A call makes at most 250 commands. So many may depend on what it meets; the rest is for what it does anyway, and for
-- the job that it is at when these are made: a job's transition is never split.
local CALLS = 130

function write.spend(q, n)
  q.calls = q.calls + n
end

-- From now on it only ends: what is left comes by the next call.
function write.is_spent(q)
  return q.calls >= CALLS
end

-- Is there room for so many more?
function write.has_left(q, n)
  return q.calls + n <= CALLS
end

-- A command that is made again and again.
function write.ask(q, ...)
  q.calls = q.calls + 1
  return call(...)
end

local function grow(commands, verb, key, name)
  local command = {verb, name}
  commands[key], commands[#commands + 1] = command, command
  return command
end

-- A field of a hash.
function write.set(q, key, field, value)
  local command = q.adds[key] or grow(q.adds, 'HSET', key, q[key])
  local n = #command
  command[n + 1], command[n + 2] = field, value
end

-- A member of a sorted set.
function write.add(q, key, score, member)
  local command = q.adds[key] or grow(q.adds, 'ZADD', key, q[key])
  local n = #command
  command[n + 1], command[n + 2] = score, member
end

-- A field of a hash goes.
function write.delete(q, key, field)
  local command = q.drops[key] or grow(q.drops, 'HDEL', key, q[key])
  command[#command + 1] = field
end

-- A member of a sorted set goes.
function write.remove(q, key, member)
  local command = q.drops[key] or grow(q.drops, 'ZREM', key, q[key])
  command[#command + 1] = member
end

-- `what(q)` says what else is written, each time something goes out.
function write.gather(q, what)
  q.gathered[#q.gathered + 1] = what
end

-- `what(q)` says what else is written, when all is decided.
function write.finally(q, what)
  q.at_end[#q.at_end + 1] = what
end

-- In the middle of a call, which goes on to decide by what it then finds.
function write.so_far(q)
  for _, what in ipairs(q.gathered) do what(q) end
  local adds, drops = q.adds, q.drops
  for i = 1, #adds do call(unpack(adds[i])) end
  for i = 1, #drops do call(unpack(drops[i])) end
  q.calls = q.calls + #adds + #drops
  q.adds, q.drops = {}, {}
end

function write.all(q)
  for _, what in ipairs(q.at_end) do what(q) end
  write.so_far(q)
end

return write
