-- hand: what somebody is given to see of a job: its record, its payload, what was typed so far.
-- USES   write record
-- KEYS   payloads hash · drafts hash
local BODIES = 100
local bodies, bodies_read = {}, 0 -- payloads that live apart, as far as a script has read them
local with_drafts = {}

-- Whoever is not served yet is served by the next script.
local function is_tired()
  return is_spent() or bodies_read >= BODIES
end

local function is_apart(record)
  return bit.band(struct.unpack('>I2', record, 8), APART) ~= 0
end

local function payload_of(id, record)
  if not is_apart(record) then return '' end
  if not bodies[id] then
    bodies[id], bodies_read = ask('HGET', payloads, id) or '', bodies_read + 1
  end
  return bodies[id]
end

-- A payload that may not fit any more is measured, and not read.
local function size(id, record, is_tight)
  if is_tight and is_apart(record) and not bodies[id] then return #record + ask('HSTRLEN', payloads, id) end
  return #record + #payload_of(id, record)
end

-- Can these, {id, raw} each, be shown in one answer? A script that has shown none before can.
local function can_show(those)
  local apart = 0
  for _, job in ipairs(those) do
    if is_apart(job.raw) and not bodies[job.id] then apart = apart + 1 end
  end
  return bodies_read == 0 and #with_drafts == 0 or bodies_read + apart <= BODIES and has_left(apart)
end

-- `fresh`: nothing has happened to it yet, so nobody has typed anything.
local function shown(id, record, raw, deadline, worker, fresh)
  local job = {id, record, payload_of(id, record), raw, deadline, ''}
  if not fresh then with_drafts[#with_drafts + 1] = {job = job, worker = worker} end
  return job
end

-- What was typed is given back to who typed it, or to whoever comes next if the queue shares drafts.
local function show_drafts(shares_drafts)
  local ids = {}
  for i, asked in ipairs(with_drafts) do ids[i] = asked.job[1] end
  if #ids == 0 then return end
  for i, kept in ipairs(redis.call('HMGET', drafts, unpack(ids))) do
    if kept then
      local owner, stop = struct.unpack('>Bc0', kept)
      local worker = with_drafts[i].worker
      if shares_drafts or owner == worker and worker ~= '' then with_drafts[i].job[6] = kept:sub(stop) end
    end
  end
end
