-- draft: the text typed so far is kept with the job for its next worker. It is written at once, so that the last item of a list
-- wins and a job that ends in the same call removes its draft.
local write = require 'base/write'
local text = require 'base/text'
local unpack_draft = struct.unpack
local draft = {}

-- '' leaves it as it is, JSON's null removes it.
function draft.save(q, id, worker, typed)
  if typed == 'null' then
    write.ask(q, 'HDEL', q.drafts, id)
  elseif typed ~= '' then
    write.ask(q, 'HSET', q.drafts, id, text.short(worker) .. typed)
  end
end

-- What this worker has typed; '' for none.
function draft.of(q, id, worker)
  local kept = write.ask(q, 'HGET', q.drafts, id)
  if not kept then return '' end
  local owner, stop = unpack_draft('>Bc0', kept)
  return owner == worker and kept:sub(stop) or ''
end

return draft
