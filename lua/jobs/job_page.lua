-- job_page: the jobs on a page of a list, and whether one more fits on it.
local write = require 'base/write'
local view = require 'jobs/view'
local job_page = {}
local BODIES, BYTES = write.BODIES, $RESERVE_BYTES

-- A page of at most `limit` jobs, which has this many bytes already. `bodies`: how many payloads and results it took to read.
function job_page.new(limit, bytes)
  return {limit = limit, bytes = bytes, bodies = 0, full = false, page = {}}
end

-- Adds a job; false if the page or the budget is full.
function job_page.put(q, list, id, header, r, raw, at)
  local bodies = view.bodies_of(header, r)
  if write.is_spent(q) or list.bodies > 0 and list.bodies + bodies > BODIES then return false end
  list.bodies = list.bodies + bodies
  local job = view.show(q, id, header, r, raw, at)
  local weight = #job[2] + #job[3]
  for part = 5, #job do weight = weight + (part ~= 6 and #job[part] or 0) end
  list.full = list.bytes > 0 and list.bytes + weight > BYTES
  if list.full then return false end
  list.bytes = list.bytes + weight
  list.page[#list.page + 1] = job
  return true
end

return job_page
