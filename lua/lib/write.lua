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
    if #command > 2 then
      redis.call(unpack(command))
      for i = #command, 3, -1 do command[i] = nil end
    end
  end
end
