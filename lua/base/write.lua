-- write: collects the writes of a call and sends them together: adds before removals, one command per key, so that what came and
-- left in one call is gone. It also counts the commands of a call against its budget.
local write = {}
local call, unpack = redis.call, unpack

-- A call makes at most 250 commands. This many may depend on the jobs it finds; the rest is for its fixed work and for the job
-- at hand when the budget is spent, because a transition of one job is never split.
local CALLS = 130
-- Payloads outside their records, or results, that a call reads: they may be large.
write.BODIES = 100

function write.spend(q, n)
  q.calls = q.calls + n
end

-- The budget is spent: the call ends, and the next one continues.
function write.is_spent(q)
  return q.calls >= CALLS
end

-- Does the budget allow `n` more commands?
function write.has_left(q, n)
  return q.calls + n <= CALLS
end

-- A command whose number depends on the data; it counts against the budget.
function write.ask(q, ...)
  q.calls = q.calls + 1
  return call(...)
end

-- The command of each key, which is kept for the calls that follow: its words up to the length that `q` says are those of this call.
local adding, dropping = {}, {}

-- Begins the command of a key. `lengths`: those of this call by key, whose list part holds the keys in their order. Returns its length.
local function begin(lengths, commands, verb, key, name)
  lengths[#lengths + 1] = key
  local command = commands[key]
  if command then command[2] = name else commands[key] = {verb, name} end
  return 2
end

-- Sets a field of a hash.
function write.set(q, key, field, value)
  local lengths = q.adds
  local n = lengths[key] or begin(lengths, adding, 'HSET', key, q[key])
  local command = adding[key]
  command[n + 1], command[n + 2], lengths[key] = field, value, n + 2
end

-- Adds a member to a sorted set.
function write.add(q, key, score, member)
  local lengths = q.adds
  local n = lengths[key] or begin(lengths, adding, 'ZADD', key, q[key])
  local command = adding[key]
  command[n + 1], command[n + 2], lengths[key] = score, member, n + 2
end

-- Removes a field of a hash.
function write.delete(q, key, field)
  local lengths = q.drops
  local n = lengths[key] or begin(lengths, dropping, 'HDEL', key, q[key])
  dropping[key][n + 1], lengths[key] = field, n + 1
end

-- Removes a member of a sorted set.
function write.remove(q, key, member)
  local lengths = q.drops
  local n = lengths[key] or begin(lengths, dropping, 'ZREM', key, q[key])
  dropping[key][n + 1], lengths[key] = member, n + 1
end

-- Their commands are not kept: the values may be large.
local HAS_BODIES = {payloads = true, results = true}

-- Sends the commands of this call. Returns how many.
local function send(lengths, commands)
  for i = 1, #lengths do
    local key = lengths[i]
    call(unpack(commands[key], 1, lengths[key]))
    if HAS_BODIES[key] then commands[key] = nil end
  end
  return #lengths
end

-- `hook(q)` adds its writes before every flush.
function write.at_flush(q, hook)
  q.flush_hooks[#q.flush_hooks + 1] = hook
end

-- `hook(q)` adds its writes before the commit.
function write.at_commit(q, hook)
  q.commit_hooks[#q.commit_hooks + 1] = hook
end

-- Sends the writes in the middle of a call that reads them again.
function write.flush(q)
  for _, hook in ipairs(q.flush_hooks) do hook(q) end
  local added = send(q.adds, adding)
  q.calls = q.calls + added + send(q.drops, dropping)
  q.adds, q.drops = {}, {}
end

function write.commit(q)
  for _, hook in ipairs(q.commit_hooks) do hook(q) end
  write.flush(q)
end

return write
