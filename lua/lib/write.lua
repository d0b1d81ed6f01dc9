-- write: commands that grow while a list is decided, and go out together at its end, in the order they were begun; and
-- how many commands a script has made by what it met.
local commands, gathered = {}, {}

-- A script makes at most 250 commands. So many may depend on what it meets; the rest is for what it does anyway, and for
-- the job that it is at when these are made: a job's transition is never split.
local CALLS = 130
local calls = 0

local function spend(n)
  calls = calls + n
end

-- From now on it only ends: what is left comes by the next script.
local function is_spent()
  return calls >= CALLS
end

-- Is there room for so many more?
local function has_left(n)
  return calls + n <= CALLS
end

-- A command that is made again and again.
local function ask(...)
  calls = calls + 1
  return redis.call(...)
end

local function begin(name, key)
  local command = {name, key}
  commands[#commands + 1] = command
  return command
end

local function add(command, a, b)
  local n = #command
  command[n + 1], command[n + 2] = a, b
end

-- Adds to the commands before they go out.
local function gather(what)
  gathered[#gathered + 1] = what
end

local function write()
  for _, what in ipairs(gathered) do what() end
  for _, command in ipairs(commands) do
    if #command > 2 then ask(unpack(command)) end
  end
end

-- Writes in the middle of a script, which goes on to decide by what it then finds.
local function write_so_far()
  write()
  for _, command in ipairs(commands) do
    for i = #command, 3, -1 do command[i] = nil end
  end
end

-- Numbers become text digit by digit: the same one is not spelled twice.
local spelled, spelling
local function digits(number)
  if number ~= spelled then spelled, spelling = number, string.format('%.0f', number) end
  return spelling
end
