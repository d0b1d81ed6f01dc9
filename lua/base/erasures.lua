-- erasures: the workers whose names are being taken out of a queue, and how far that has come: when the last step ran, its stage, and the
-- place in that, a score and a member.
local clock = require 'base/clock'
local text = require 'base/text'
local erasures = {
  -- The name is only in events now, which wait for their readers; then in deliveries that were made of them meanwhile.
  EVENTS = 'events', BODIES = 'bodies',
  -- Events wait no longer. An erasure that a caller has not continued for so long is given up.
  MAX_WAIT_MS = 600000,
}

-- Nil for none.
function erasures.parse(raw)
  if not raw then return nil end
  local at, stage, score, stop = raw:match('^(%d+) (%l+) (%S*) ()')
  return {at = tonumber(at), stage = stage, score = score, member = raw:sub(stop)}
end

-- `at`: when it came to this stage, nil for now.
function erasures.write(q, name, own, at)
  redis.call('HSET', q.erasures, name, text.words(text.of(at or clock.now(q)), own.stage, own.score, own.member))
end

function erasures.forget(q, name)
  redis.call('HDEL', q.erasures, name)
end

return erasures
