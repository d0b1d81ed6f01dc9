-- draft: what a person has typed so far is kept with the job, whoever has it next.
-- USES   write
-- KEYS   drafts hash
local write_drafts, remove_drafts = begin('HSET', drafts), begin('HDEL', drafts)

-- '' leaves it as it is, JSON's null removes it.
local function save_draft(id, worker, draft)
  if draft == 'null' then
    add(remove_drafts, id)
  elseif draft ~= '' then
    add(write_drafts, id, string.char(#worker) .. worker .. draft)
  end
end
