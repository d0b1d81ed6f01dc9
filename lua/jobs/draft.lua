-- draft: what a person has typed so far is kept with the job, whoever has it next. Written at once: the last word of a
-- list counts, and a job that ends by the same call takes its draft with it.
local write = require 'base/write'
local text = require 'base/text'
local draft = {}

-- '' leaves it as it is, JSON's null removes it.
function draft.save(q, id, worker, typed)
  if typed == 'null' then
    write.ask(q, 'HDEL', q.drafts, id)
  elseif typed ~= '' then
    write.ask(q, 'HSET', q.drafts, id, text.short(worker) .. typed)
  end
end

return draft
