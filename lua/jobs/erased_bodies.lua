-- erased_bodies: takes the name of a worker out of the bodies of deliveries, which nothing else changes. Payloads and results stay.
local write = require 'base/write'
local bodies = require 'base/bodies'
local unnamed = require 'base/unnamed'
local page = require 'jobs/page'
local erased_bodies = {}
local LOOK = 50
-- The members of a body that name a worker, and those that are texts, before the first that a producer or a worker has written.
local ROLES = {worker = 'name', reason = 'text', payload = 'end', truncated = 'end'}

-- A part of what webhooks have still to be sent. `walk`: {json: the name as JSON writes it, score, member, looked, deliveries}. Returns
-- whether that is the end.
function erased_bodies.look(q, walk)
  local from = page.rank_after(q.deliveries, walk.score, walk.member)
  local entries, fields = write.ask(q, 'ZRANGE', q.deliveries, from, from + LOOK - 1, 'WITHSCORES'), {}
  for i = 1, #entries, 2 do fields[#fields + 1] = bodies.field(entries[i]) end
  if #fields == 0 then return true end
  for i, body in ipairs(write.ask(q, 'HMGET', q.bodies, unpack(fields))) do
    local new = body and unnamed.json(body, walk.json, ROLES)
    if new and new ~= body then
      write.set(q, 'bodies', fields[i], new)
      walk.deliveries = walk.deliveries + 1
    end
  end
  walk.looked, walk.member, walk.score = walk.looked + #fields, entries[#entries - 1], entries[#entries]
  return #fields < LOOK
end

return erased_bodies
