-- write: collects the writes of a call and sends them together: adds before removals, one command per key, so that what came and
-- left in one call is gone. It also counts the commands of a call against its budget.
local write = {}
local call, unpack = redis.call, unpack

-- A call makes at most 250 commands. This many may depend on the jobs it finds; the rest is for its fixed work and for the job
-- at hand when the budget is spent, because a transition of one job is never split.
local CALLS = 130

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

local function grow(commands, verb, key, name)
  local command = {verb, name}
  commands[key], commands[#commands + 1] = command, command
  return command
end

-- Sets a field of a hash.
function write.set(q, key, field, value)
  local command = q.adds[key] or grow(q.adds, 'HSET', key, q[key])
  local n = #command
  command[n + 1], command[n + 2] = field, value
end

-- Adds a member to a sorted set.
function write.add(q, key, score, member)
  local command = q.adds[key] or grow(q.adds, 'ZADD', key, q[key])
  local n = #command
  command[n + 1], command[n + 2] = score, member
end

-- Removes a field of a hash.
function write.delete(q, key, field)
  local command = q.drops[key] or grow(q.drops, 'HDEL', key, q[key])
  command[#command + 1] = field
end

-- Removes a member of a sorted set.
function write.remove(q, key, member)
  local command = q.drops[key] or grow(q.drops, 'ZREM', key, q[key])
  command[#command + 1] = member
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
  local adds, drops = q.adds, q.drops
  for i = 1, #adds do call(unpack(adds[i])) end
  for i = 1, #drops do call(unpack(drops[i])) end
  q.calls = q.calls + #adds + #drops
  q.adds, q.drops = {}, {}
end

function write.commit(q)
  for _, hook in ipairs(q.commit_hooks) do hook(q) end
  write.flush(q)
end

return write
