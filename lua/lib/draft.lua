-- draft: what a person has typed so far is kept with the job, whoever has it next. Written at once: the last word of a
-- list counts, and a job that ends by the same script takes its draft with it.
-- USES   write
-- KEYS   drafts hash

-- '' leaves it as it is, JSON's null removes it.
local function save_draft(id, worker, draft)
  if draft == 'null' then
    ask('HDEL', drafts, id)
  elseif draft ~= '' then
    ask('HSET', drafts, id, string.char(#worker) .. worker .. draft)
  end
end
