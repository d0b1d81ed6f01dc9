-- known: the jobs that a call has read, {record, header} each: whoever meets one again finds the same.
local record = require 'base/record'
local write = require 'base/write'
local known = {}

function known.all(q)
  local all = q.known
  if not all then
    all = {}
    q.known = all
  end
  return all
end

function known.note(q, id, r, header)
  local all = known.all(q)
  if all[id] then all[id].record = r else all[id] = {record = r, header = header} end
end

-- Those of these that are not known yet, at once. Who is no job stays unknown.
function known.read(q, ids)
  local all, unread = known.all(q), {}
  for _, id in ipairs(ids) do
    if not all[id] then unread[#unread + 1] = id end
  end
  if #unread == 0 then return end
  local lives, raws = write.ask(q, 'HMGET', q.live, unpack(unread)), write.ask(q, 'HMGET', q.jobs, unpack(unread))
  for i, id in ipairs(unread) do
    if lives[i] and raws[i] then all[id] = {record = record.live(lives[i]), header = record.header(raws[i])} end
  end
end

-- Nil when there is none.
function known.job(q, id)
  known.read(q, {id})
  return q.known[id]
end

return known
