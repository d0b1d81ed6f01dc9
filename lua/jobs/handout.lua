-- handout: the parts of a job that a reserve returns: record, live record, payload, draft.
local text = require 'base/text'
local record_flags = require 'base/record_flags'
local write = require 'base/write'
local draft = require 'jobs/draft'
local handout = {BYTES = $RESERVE_BYTES}
local BODIES, MORE, DRAFT = write.BODIES, ' ' .. 'more', 5

-- `bodies`: the external payloads read by this call, `read` of them; `spent`: bytes of the jobs shown.
function handout.open(q)
  q.handout = {bodies = {}, read = 0, spent = 0, with_drafts = {}}
end

-- Callers that are left are retried in the next script.
function handout.is_full(q)
  return write.is_spent(q) or q.handout.read >= BODIES
end

local function payload_of(q, id, raw)
  if record_flags.is_whole(raw) then return '' end
  local h = q.handout
  if not h.bodies[id] then
    h.bodies[id], h.read = write.ask(q, 'HGET', q.payloads, id) or '', h.read + 1
  end
  return h.bodies[id]
end

-- The bytes of a job in the reply. A payload that may no longer fit is measured and not read.
function handout.size(q, id, raw)
  if record_flags.is_whole(raw) then return #raw end
  if q.handout.spent > handout.BYTES / 2 and not q.handout.bodies[id] then
    return #raw + write.ask(q, 'HSTRLEN', q.payloads, id)
  end
  return #raw + #payload_of(q, id, raw)
end

-- Can these jobs, {id, raw} each, be shown in this call? A call that has shown none yet can always.
function handout.can_show(q, those)
  local h, external = q.handout, 0
  for _, job in ipairs(those) do
    if not record_flags.is_whole(job.raw) and not h.bodies[job.id] then external = external + 1 end
  end
  return h.read == 0 and #h.with_drafts == 0 or h.read + external <= BODIES and write.has_left(q, external)
end

-- Flattens the replies: a word, then the fields of each job, the last three only if any of them exists.
function handout.flat(replies)
  for i = 1, #replies do
    local reply = replies[i]
    if type(reply[2]) == 'table' then
      local fields = {reply[1]}
      for j = 2, #reply do
        local job, n = reply[j], #fields
        fields[n + 1], fields[n + 2], fields[n + 3] = job[1], job[2], job[3]
        if job[4] ~= '' or job[DRAFT] ~= '' or job[6] ~= '' then
          fields[n + 1], fields[n + 4], fields[n + 5], fields[n + 6] = job[1] .. MORE, job[4], job[DRAFT], job[6]
        end
      end
      replies[i] = fields
    end
  end
  return replies
end

-- When a job was handed over, by whom, and the note.
local function note_of(handed)
  return handed and struct.pack('$TIME_FORMAT', handed.since) .. text.short(handed.from) .. handed.note or ''
end

-- A job of a reply: its id and deadline, record, live record, payload, draft and note. `lease`: the worker and the nonce of its reservation.
-- `handed`: the hand-over by which they have it, nil for none. `fresh`: it was never reserved, so it has no draft.
function handout.show(q, id, raw, live, deadline, lease, handed, fresh)
  local job = {id .. ' ' .. text.of(deadline), raw, live, payload_of(q, id, raw), '', note_of(handed)}
  local with_drafts = q.handout.with_drafts
  if not fresh then
    with_drafts[#with_drafts + 1] = {job = job, id = id, owner = draft.owner(lease.worker, lease.nonce), giver = handed and handed.from}
  end
  return job
end

-- Adds the drafts of all jobs shown, with one read.
function handout.show_drafts(q, shares_drafts)
  local asked, ids = q.handout.with_drafts, {}
  for i, one in ipairs(asked) do ids[i] = one.id end
  if #ids == 0 then return end
  for i, kept in ipairs(redis.call('HMGET', q.drafts, unpack(ids))) do
    asked[i].job[DRAFT] = draft.shown(kept, asked[i].owner, asked[i].giver, shares_drafts)
  end
end

return handout
