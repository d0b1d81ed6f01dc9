-- loaded: the jobs that a call has read, {record, header} each, so that every module changes the same copy.
local record = require 'base/record'
local write = require 'base/write'
local loaded = {}

function loaded.all(q)
  local all = q.loaded
  if not all then
    all = {}
    q.loaded = all
  end
  return all
end

function loaded.note(q, id, r, header)
  local all = loaded.all(q)
  if all[id] then all[id].record = r else all[id] = {record = r, header = header} end
end

-- Reads the jobs that are not loaded yet with one read each. An id without a job stays unloaded.
function loaded.read(q, ids)
  local all, unread = loaded.all(q), {}
  for _, id in ipairs(ids) do
    if not all[id] then unread[#unread + 1] = id end
  end
  if #unread == 0 then return end
  local lives, raws = write.ask(q, 'HMGET', q.live, unpack(unread)), write.ask(q, 'HMGET', q.jobs, unpack(unread))
  for i, id in ipairs(unread) do
    if lives[i] and raws[i] then all[id] = {record = record.live(lives[i]), header = record.header(raws[i])} end
  end
end

-- A job by id; nil for none.
function loaded.job(q, id)
  loaded.read(q, {id})
  return q.loaded[id]
end

return loaded
