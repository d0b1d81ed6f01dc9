-- event: one stream entry a script call. Its field is the number of transitions in it, its value holds them in order.
-- KEYS   events stream
local transitions = {}

local function event(kind, id, worker, client, note)
  transitions[#transitions + 1] =
    struct.pack('>Bc0c26Bc0Bc0I2c0', #kind, kind, id, #worker, worker, #client, client, #note, note)
end

local function write_events()
  local n = #transitions
  if n > 0 then redis.call('XADD', events, '*', n, table.concat(transitions)) end
end
