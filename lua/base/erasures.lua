-- erasures: the workers whose names are being taken out of a queue, and how far that has come: when the last step ran, its stage, whose
-- call it is (the queues that the caller may see), since when events that name the worker wait for their readers (0: none do) and the last
-- of these, and the place in the stage, a score and a member.
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
  local at, stage, by, since, last, score, stop = raw:match('^(%d+) (%l+) (%S+) (%d+) (%S+) (%S*) ()')
  return at and {
    at = tonumber(at), stage = stage, by = by, since = tonumber(since), last = last, score = score, member = raw:sub(stop),
  }
end

function erasures.write(q, name, own)
  local at, since = text.of(clock.now(q)), text.of(own.since)
  redis.call('HSET', q.erasures, name, text.words(at, own.stage, own.by, since, own.last, own.score, own.member))
end

-- Whether the name is out of all else, so that no caller has to continue it.
function erasures.is_left_to_expunge(own)
  return own.stage == erasures.EVENTS or own.stage == erasures.BODIES
end

-- Whether its caller, who has to continue it, has not done so for too long.
function erasures.is_given_up(q, own)
  return clock.now(q) - own.at >= erasures.MAX_WAIT_MS
end

function erasures.forget(q, name)
  redis.call('HDEL', q.erasures, name)
end

return erasures
