-- write: commands that grow while a list is decided, and go out together at its end, in the order they were begun.
local commands = {}

local function begin(name, key)
  local command = {name, key}
  commands[#commands + 1] = command
  return command
end

local function add(command, a, b)
  local n = #command
  command[n + 1], command[n + 2] = a, b
end

local function write()
  for _, command in ipairs(commands) do
    if #command > 2 then redis.call(unpack(command)) end
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
