-- dedupe: an ended job frees its dedupe key, if the key is its own.
-- USES   write
-- KEYS   dedupe hash
local freed_keys = begin('HDEL', dedupe)
local may_be_freed = {} -- digest -> the job that frees it

local function free_dedupe(id, header)
  if header.digest then may_be_freed[header.digest] = id end
end

gather(function()
  local digests = {}
  for digest in pairs(may_be_freed) do digests[#digests + 1] = digest end
  if #digests == 0 then return end
  for i, owner in ipairs(ask('HMGET', dedupe, unpack(digests))) do
    if owner == may_be_freed[digests[i]] then add(freed_keys, digests[i]) end
  end
  may_be_freed = {}
end)
