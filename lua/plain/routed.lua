-- routed: the list form for new jobs with a route that says no time and no overlap: writes the routes, and places those jobs that are not
-- for everybody. The tables are reused between calls; a call reads only the entries that it has written.
local record = require 'base/record'
local memo = require 'base/memo'
local clock = require 'base/clock'
local text = require 'base/text'
local record_bytes = require 'base/record_bytes'
local route_codec = require 'base/route_codec'
local hint = require 'base/hint'
local lines = require 'jobs/lines'
local route = require 'jobs/route'
local routing = require 'jobs/routing'
local store = require 'jobs/store'
local routed = {}
local call, unpack = redis.call, unpack
local HEADER = {flags = record.ROUTED}
local routes = {}         -- of each job of the list that has one
local to_routes, to_restricted, to_lines, to_live = {'HSET'}, {'ZADD'}, {'ZADD'}, {'HSET'}
local in_routes, in_restricted, in_lines = 0, 0, 0
local ready = {} -- as base/hint reads it: the channel, and how many jobs are ready by line

-- Returns the time, in which the routes must be valid.
function routed.open(q)
  in_routes, in_restricted, in_lines = 0, 0, 0
  ready = {hints = q.hints}
  return clock.read()
end

-- By what the calls say, because many jobs have the same route: {as it is stored, the lines of its jobs or false}; false if it is unusual.
local known = memo.new(function(asked, q)
  local own = route.apply(q, route_codec.decode(''), asked)
  if own.expires or own.sla or own.fallback or own.overlap then return false end
  local raw = route_codec.encode(own)
  return raw ~= '' and {raw, routing.lines_of(own) or false}
end)

-- Reads the route of the i-th job, from the rare options behind its id. Returns false if they are unusual.
function routed.note(q, i, options, now)
  local job = store.rare({header = HEADER}, options, $ID_LEN + 1)
  if job.delay > 0 or job.run_at > 0 or job.external ~= '' or now < job.from or now >= job.before then return false end
  routes[i] = memo.of(known, job.asked, q)
  return routes[i]
end

-- Adds the i-th job to the lists. Returns whether it has a line of its own, and so does not stand in `inbound`.
function routed.enter(i, id, place, arrival, priority)
  local raw, own = routes[i][1], routes[i][2]
  to_routes[in_routes + 3], to_routes[in_routes + 4] = id, raw
  in_routes = in_routes + 2
  if not own then return false end
  local at, member = in_restricted, arrival .. id
  to_restricted[at + 3], to_restricted[at + 4] = text.of(place), member
  to_live[at + 3], to_live[at + 4] = id, record_bytes.wait(place, arrival, priority)
  in_restricted = at + 2
  for _, line in ipairs(own) do
    to_lines[in_lines + 3], to_lines[in_lines + 4] = '0', lines.member(line, place, member)
    in_lines = in_lines + 2
    hint.line_ready(ready, line, 1)
  end
  return true
end

local function write(command, key, length)
  command[2] = key
  call(unpack(command, 1, length + 2))
end

function routed.write(q)
  write(to_routes, q.routes, in_routes)
  if in_restricted == 0 then return end
  write(to_live, q.live, in_restricted)
  write(to_restricted, q.restricted, in_restricted)
  write(to_lines, q.lines, in_lines)
  call('HSET', q.settings, lines.MARK, '1')
end

function routed.announce()
  hint.publish_lines(ready)
end

return routed
