-- dedupe: an ended job frees its dedupe key, if the key is its own.
-- USES   write
-- KEYS   dedupe hash
local freed_keys = begin('HDEL', dedupe)

local function free_dedupe(id, header)
  if header.digest and redis.call('HGET', dedupe, header.digest) == id then add(freed_keys, header.digest) end
end
