-- set: an operator changes the settings of a queue, which this may make.
-- FLAGS  allow-oom
-- KEYS   inbound zset · lines zset · jobs hash · settings hash · form hash · totals hash · events stream · cursors hash · actions hash ·
-- KEYS   sheets hash · hints channel
-- ARGV   name of the API key ('' = none), note for the list of actions, whether a queue that is not there is made (0 | 1), text of the
-- ARGV   form that is set ('' = none is), per setting 2: name, value ('' = back to the default)
-- REPLY  {'set'} | {'made'}: it was not there | {'unknown'}
local event = require 'base/event'
local action = require 'base/action'
local hint = require 'base/hint'
local commit = require 'base/commit'
local text = require 'base/text'
local sheet = require 'base/sheet'
local total = require 'base/total'
local line_set = require 'jobs/line_set'
local FIRST, STRIDE = 5, 2
local ANNOUNCED = 100
local FORM_DIGEST = 'result_schema_sha256'

local function is_paused(q)
  return redis.call('HGET', q.settings, 'paused') == '1'
end

-- Writes the settings. Returns those that differ now, of each the name, the value before and the one now.
local function change(q, args)
  local changes = {}
  for i = FIRST, #args, STRIDE do
    local name, value = args[i], args[i + 1]
    local before = redis.call('HGET', q.settings, name) or ''
    if value == '' then redis.call('HDEL', q.settings, name) else redis.call('HSET', q.settings, name, value) end
    if name == FORM_DIGEST and value == '' then redis.call('UNLINK', q.form) end
    if name == FORM_DIGEST and value ~= '' then redis.call('HSET', q.form, 'text', args[4]) end
    if name == 'sheets' then sheet.switch(q, value == '1') end
    if value ~= before then changes[#changes + 1] = text.short(name) .. text.short(before) .. text.short(value) end
  end
  return changes
end

-- Whether anything was ever put into the queue.
local function is_there(q)
  return redis.call('EXISTS', q.jobs, q.settings, q.totals) > 0
end

return function(q, args)
  local is_new = not is_there(q)
  if is_new and args[3] == '0' then return {'unknown'} end
  -- A change of nothing makes it too: the clock of a new queue stands at 0.
  if is_new then total.count(q, 'stamp', 0) end
  local was = is_paused(q)
  event.set_actor(q, args[1])
  local changes = change(q, args)
  local is = is_paused(q)
  if is ~= was then
    event.add(q, is and 'paused' or 'unpaused', string.rep('0', $ID_LEN), '', {flags = 0, client = ''}, '')
    if was then
      hint.became_ready(q, redis.call('ZCARD', q.inbound))
      -- The callers of other lines try again within seconds.
      for _, one in ipairs(line_set.first_lines(q, ANNOUNCED)) do hint.line_ready(q, one[1], one[2]) end
    end
  end
  action.add(q, args[2], #changes > 0 and 1 or 0, table.concat(changes))
  return commit(q, {is_new and 'made' or 'set'})
end
