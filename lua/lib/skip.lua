-- skip: who does not want a job is not offered it again.

-- The last sixteen who skipped a job, newest first. Who skips it again takes nobody else's place.
local SKIPPED = 16

local function skip(r, worker)
  local own = string.char(#worker) .. worker
  local kept, entries, at = own, 1, 1
  while at <= #r.skips and entries < SKIPPED do
    local stop = at + r.skips:byte(at)
    local entry = r.skips:sub(at, stop)
    if entry ~= own then kept, entries = kept .. entry, entries + 1 end
    at = stop + 1
  end
  r.skips = kept
end

local function has_skipped(r, worker)
  local at = 1
  while at <= #r.skips do
    local name, stop = struct.unpack('>Bc0', r.skips, at)
    if name == worker then return true end
    at = stop
  end
  return false
end
