-- dedupe: an ended job frees its dedupe key, if the key is its own.
-- USES   write
-- KEYS   dedupe hash
local freed_keys = begin('HDEL', dedupe)
local may_be_freed = {} -- digest -> the jobs that end with it: one that was requeued may have it no more

local function free_dedupe(id, header)
  local digest = header.digest
  if not digest then return end
  may_be_freed[digest] = may_be_freed[digest] or {}
  may_be_freed[digest][id] = true
end

gather(function()
  local digests = {}
  for digest in pairs(may_be_freed) do digests[#digests + 1] = digest end
  if #digests == 0 then return end
  for i, owner in ipairs(ask('HMGET', dedupe, unpack(digests))) do
    if may_be_freed[digests[i]][owner] then add(freed_keys, digests[i]) end
  end
  may_be_freed = {}
end)
