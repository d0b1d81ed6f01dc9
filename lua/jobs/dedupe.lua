-- dedupe: an ended job frees its dedupe key, if the key is its own.
local write = require 'base/write'
local dedupe = {}

local function write_freed(q)
  local freed, digests = q.freed, {}
  for digest in pairs(freed) do digests[#digests + 1] = digest end
  if #digests == 0 then return end
  for i, owner in ipairs(write.ask(q, 'HMGET', q.dedupe, unpack(digests))) do
    if freed[digests[i]][owner] then write.delete(q, 'dedupe', digests[i]) end
  end
  q.freed = {}
end

-- Digest -> the jobs that end with it: one that was requeued may have it no more.
function dedupe.free(q, id, header)
  local digest = header.digest
  if not digest then return end
  if not q.freed then
    q.freed = {}
    write.gather(q, write_freed)
  end
  q.freed[digest] = q.freed[digest] or {}
  q.freed[digest][id] = true
end

return dedupe
