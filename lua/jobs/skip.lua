-- skip: the workers who skipped a job; it is not offered to them again.
local text = require 'base/text'
local skip = {}
local byte, sub = string.byte, string.sub

-- The last sixteen workers, newest first, each once.
local SKIPPED = 16

function skip.add(r, worker)
  local own = text.short(worker)
  local kept, entries, at = own, 1, 1
  while at <= #r.skips and entries < SKIPPED do
    local stop = at + byte(r.skips, at)
    local entry = sub(r.skips, at, stop)
    if entry ~= own then kept, entries = kept .. entry, entries + 1 end
    at = stop + 1
  end
  r.skips = kept
end

function skip.has(r, worker)
  return text.has(r.skips, worker)
end

-- A worker whom another one or an operator names for the job is offered it again.
function skip.take_back(r, worker)
  local kept = ''
  for _, name in ipairs(text.names(r.skips)) do
    if name ~= worker then kept = kept .. text.short(name) end
  end
  r.skips = kept
end

return skip
