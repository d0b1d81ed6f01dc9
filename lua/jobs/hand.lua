-- hand: what somebody is given to see of a job: its record, its payload, what was typed so far.
local text = require 'base/text'
local patch = require 'base/patch'
local write = require 'base/write'
local hand = {BYTES = $RESERVE_BYTES, MORE = ' ' .. 'more'}
local BODIES = 100
local sub = string.sub

-- `bodies`: external payloads, as far as a call has read them; `spent`: bytes of what it has shown.
function hand.open(q)
  q.hand = {bodies = {}, read = 0, spent = 0, with_drafts = {}}
end

-- Whoever is not served yet is served by the next call.
function hand.is_tired(q)
  return write.is_spent(q) or q.hand.read >= BODIES
end

local function payload_of(q, id, raw)
  if patch.is_whole(raw) then return '' end
  local h = q.hand
  if not h.bodies[id] then
    h.bodies[id], h.read = write.ask(q, 'HGET', q.payloads, id) or '', h.read + 1
  end
  return h.bodies[id]
end

-- How many bytes it takes to show a job. A payload that may not fit any more is measured, and not read.
function hand.size(q, id, raw)
  if patch.is_whole(raw) then return #raw end
  if q.hand.spent > hand.BYTES / 2 and not q.hand.bodies[id] then
    return #raw + write.ask(q, 'HSTRLEN', q.payloads, id)
  end
  return #raw + #payload_of(q, id, raw)
end

-- Can these, {id, raw} each, be shown in one answer? A call that has shown none before can.
function hand.can_show(q, those)
  local h, external = q.hand, 0
  for _, job in ipairs(those) do
    if not patch.is_whole(job.raw) and not h.bodies[job.id] then external = external + 1 end
  end
  return h.read == 0 and #h.with_drafts == 0 or h.read + external <= BODIES and write.has_left(q, external)
end

-- The answers of a reserve as they are sent: a word, and of each job its id and its deadline, its record, its live record; and
-- where one of them is there, its payload and its draft.
function hand.flat(replies)
  for i, reply in ipairs(replies) do
    if type(reply[2]) == 'table' then
      local fields = {reply[1]}
      for j = 2, #reply do
        local job, n = reply[j], #fields
        fields[n + 1], fields[n + 2], fields[n + 3] = job.id .. ' ' .. job.due, job.raw, job.live
        if job.payload ~= '' or job.draft ~= '' then
          fields[n + 1], fields[n + 4], fields[n + 5] = fields[n + 1] .. hand.MORE, job.payload, job.draft
        end
      end
      replies[i] = fields
    end
  end
  return replies
end

-- `fresh`: nothing has happened to it yet, so nobody has typed anything.
function hand.shown(q, id, raw, live, deadline, worker, fresh)
  local job = {id = id, raw = raw, payload = payload_of(q, id, raw), live = live, due = text.of(deadline), draft = ''}
  local with_drafts = q.hand.with_drafts
  if not fresh then with_drafts[#with_drafts + 1] = {job = job, worker = worker} end
  return job
end

-- What was typed is given back to who typed it, or to whoever comes next if the queue shares drafts.
function hand.draft_for(worker, kept, shares_drafts)
  if not kept then return '' end
  local owner, stop = struct.unpack('>Bc0', kept)
  if shares_drafts or owner == worker and worker ~= '' then return sub(kept, stop) end
  return ''
end

-- Those of all that were shown, at once.
function hand.show_drafts(q, shares_drafts)
  local asked, ids = q.hand.with_drafts, {}
  for i, one in ipairs(asked) do ids[i] = one.job.id end
  if #ids == 0 then return end
  for i, kept in ipairs(redis.call('HMGET', q.drafts, unpack(ids))) do
    asked[i].job.draft = hand.draft_for(asked[i].worker, kept, shares_drafts)
  end
end

return hand
