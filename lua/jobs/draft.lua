-- draft: the text typed so far is kept with the job. It belongs to the worker who typed it, or, of callers without a name, to the call that
-- took the job. It is written at once, so that the last item of a list wins and a job that ends in the same call removes its draft.
local write = require 'base/write'
local text = require 'base/text'
local unpack_draft, sub = struct.unpack, string.sub
local draft = {}
-- Before the nonce of a call without a name; alone: of a caller who is no longer known.
local UNNAMED = '\0'

-- The owner that a reservation writes, by its worker and the nonce of its call.
function draft.owner(worker, nonce)
  return worker ~= '' and worker or UNNAMED .. nonce
end

local function keep(q, id, owner, typed)
  write.ask(q, 'HSET', q.drafts, id, text.short(owner) .. typed)
end

-- '' leaves it as it is, JSON's null removes it.
function draft.save(q, id, lease, typed)
  if typed == 'null' then
    write.ask(q, 'HDEL', q.drafts, id)
  elseif typed ~= '' then
    keep(q, id, draft.owner(lease.worker, lease.nonce), typed)
  end
end

-- What this owner may see of it; '' for nothing. `giver`: who handed the job over to them, nil for nobody.
function draft.shown(kept, owner, giver, is_shared)
  if not kept then return '' end
  local whose, stop = unpack_draft('$SHORT_FORMAT', kept)
  return (is_shared or whose == owner or whose == giver) and sub(kept, stop) or ''
end

local function change_owner(q, id, from, to)
  local kept = write.ask(q, 'HGET', q.drafts, id)
  if not kept then return end
  local whose, stop = unpack_draft('$SHORT_FORMAT', kept)
  if whose == from then keep(q, id, to, sub(kept, stop)) end
end

-- The reservation of a worker to whom the job was handed over ends: what came with it is theirs.
function draft.inherit(q, id, giver, lease)
  change_owner(q, id, giver, draft.owner(lease.worker, lease.nonce))
end

-- A caller without a name hands the job over: their own draft goes along, and that of another one before them does not.
function draft.give(q, id, lease)
  if lease.worker ~= '' then return end
  change_owner(q, id, '', UNNAMED)
  change_owner(q, id, draft.owner('', lease.nonce), '')
end

function draft.owner_of(kept)
  return (unpack_draft('$SHORT_FORMAT', kept))
end

-- The name of the owner goes. What was handed over stays with the job, and so does what each holder may see; other text goes. Returns
-- whether it was that owner's.
function draft.unname(q, id, kept, name, is_given, is_shared)
  local whose, stop = unpack_draft('$SHORT_FORMAT', kept)
  if whose ~= name then return false end
  if is_given or is_shared then keep(q, id, is_given and '' or UNNAMED, sub(kept, stop)) else write.ask(q, 'HDEL', q.drafts, id) end
  return true
end

return draft
