-- dedupe: the owner of a dedupe key is the job that an equal enqueue is answered with. A job that is requeued while another job
-- owns its key is a second live twin: a field of its own lists it, and it gets the key when the jobs before it end.
local write = require 'base/write'
local total = require 'base/total'
local dedupe = {}
local TWINS, MAX_TWINS, ID_LEN = '+', 64, $ID_LEN

-- The field that lists the twins after the owner.
function dedupe.twins(digest)
  return digest .. TWINS
end

-- Writes the owner and the list without the jobs that end; the first one left inherits a free key.
local function write_left(q, digest, owner, twins, ends)
  local left = {}
  for at = 1, #twins, ID_LEN do
    local id = twins:sub(at, at + ID_LEN - 1)
    if not ends[id] then left[#left + 1] = id end
  end
  if not owner or ends[owner] then
    owner = table.remove(left, 1)
    if owner then write.set(q, 'dedupe', digest, owner) else write.delete(q, 'dedupe', digest) end
  end
  local rest = table.concat(left)
  if rest == twins then return end
  if rest ~= '' then return write.set(q, 'dedupe', dedupe.twins(digest), rest) end
  write.delete(q, 'dedupe', dedupe.twins(digest))
  total.count(q, 'shared', -1) -- not read here: older versions of the program may share this Redis, and ask for it
end

local function write_freed(q)
  local digests, ends, fields = q.freed.digests, q.freed.ends, {}
  if #digests == 0 then return end
  for i = 1, #digests do fields[i * 2 - 1], fields[i * 2] = digests[i], dedupe.twins(digests[i]) end
  local found = write.ask(q, 'HMGET', q.dedupe, unpack(fields))
  for i = 1, #digests do
    local digest, owner, twins = digests[i], found[i * 2 - 1], found[i * 2]
    if twins then
      write_left(q, digest, owner, twins, ends)
    elseif ends[owner] then
      write.delete(q, 'dedupe', digest)
    end
  end
  q.freed = {digests = {}, ends = {}}
end

-- The digests of the jobs that end, each once, and these jobs; the owner of a digest may be another job.
function dedupe.free(q, id, header)
  local digest = header.digest
  if not digest then return end
  if not q.freed then
    q.freed = {digests = {}, ends = {}}
    write.at_flush(q, write_freed)
  end
  local digests, ends = q.freed.digests, q.freed.ends
  if not ends[digest] then digests[#digests + 1], ends[digest] = digest, true end
  ends[id] = true
end

-- A dead job lives again. `owners` and `twins` hold the owner and the list by digest, and are updated.
function dedupe.take(q, id, digest, owners, twins)
  if not owners[digest] then
    owners[digest] = id
    return write.set(q, 'dedupe', digest, id)
  end
  local before = twins[digest] or ''
  if #before >= MAX_TWINS * ID_LEN then return end
  twins[digest] = before .. id
  write.set(q, 'dedupe', dedupe.twins(digest), twins[digest])
  if before == '' then total.count(q, 'shared') end
end

return dedupe
