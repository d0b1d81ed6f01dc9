-- ask: one call of reserve, packed into one argument by crates/intray-store/src/transitions/reserve/request.rs. Its format, modes and marks
-- come from crates/intray-store/src/record_fields/reserve_fields.rs.
local memo = require 'base/memo'
local ask = {
  -- Mode, limit, lease ms, nonce, worker and by which credential it came (the note of the event), each after its length; then so
  -- many claims, a secret and its digest each.
  FORMAT = '$RESERVE_FORMAT', CLAIM = $ID_LEN + $SECRET_DIGEST_SIZE,
  -- Modes: the next jobs; the same, by a call that is certainly no repetition; the jobs that the caller holds; the job whose id follows
  -- the claim.
  $RESERVE_MODES,
  -- Added to the mode: the call does not wait for overdue jobs to be swept.
  SKIP_OVERDUE = $SKIP_OVERDUE,
  -- Why jobs were passed over: their worker has skipped them; they are not for this worker; a gate without room holds them up.
  $PASSED_OVER,
  -- The claims may be followed by the number of the worker's skills, with this added if more follows them, and each after its length.
  MORE = $MORE_FOLLOWS,
}
local NO_SKILLS = {}

-- The skills as a set, whose list part holds the line of each, and where what follows them begins.
local function unpack_skills(packed)
  local at, skills = 2, {}
  for i = 1, packed:byte() % ask.MORE do
    local skill
    skill, at = struct.unpack('$SHORT_FORMAT', packed, at)
    skills[skill], skills[i] = true, '$SKILL_LINE' .. skill
  end
  return skills, at
end

-- Many workers have the same skills.
local skills_of = memo.new(function(packed) return (unpack_skills(packed)) end)

-- The skills of the worker, and what follows them.
local function read_skills(rest)
  if rest:byte() < ask.MORE then return memo.of(skills_of, rest), '' end
  local skills, at = unpack_skills(rest)
  return skills, rest:sub(at)
end

-- The skills of a worker as an argument of their own.
function ask.skills(packed)
  return packed ~= '' and read_skills(packed) or NO_SKILLS
end

-- The lines that a worker with these skills may look into, besides everybody's.
function ask.lines(worker, skills)
  return worker == '' and skills or {'$WORKER_LINE' .. worker, unpack(skills)}
end

-- Whether skills stand there, which are no code and no digit.
local function has_skills(rest)
  local first = rest:byte()
  return first < 32 or first > 127
end

-- Adds what follows the claims, which is nothing in most calls.
local function read_rest(call, rest)
  if has_skills(rest) then
    call.skills, rest = read_skills(rest)
    if rest == '' then return end
  end
  local bits, place, member = rest:match('^(%d)(%d+) (.+)')
  call.id, call.bits, call.place, call.member = rest, tonumber(bits or 0), tonumber(place), member
end

-- `id` is the job of mode THIS; `place` and `member` say where a continued call continues, and `bits`, a digit before the place, why it has
-- passed over jobs so far. The last three are for those who serve the call: it waits for a sweep, what it has passed over, its lines.
function ask.read(packed)
  local mode, limit, lease_ms, nonce, worker, access, claims = struct.unpack(ask.FORMAT, packed)
  local skips_overdue = mode >= ask.SKIP_OVERDUE
  if skips_overdue then mode = mode - ask.SKIP_OVERDUE end
  local call = {
    mode = mode, limit = limit, lease_ms = lease_ms, nonce = nonce, worker = worker, access = access, packed = packed,
    claims = claims, skips_overdue = skips_overdue, skills = NO_SKILLS, bits = 0, waits = false, passed = false, lines = false,
  }
  local rest = claims + limit * ask.CLAIM
  if rest <= #packed then read_rest(call, packed:sub(rest)) end
  return call
end

-- The secret and its digest for the i-th job of a call.
function ask.claim(asked, i)
  local at = asked.claims + (i - 1) * ask.CLAIM
  return asked.packed:sub(at, at + $ID_LEN - 1), asked.packed:sub(at + $ID_LEN, at + ask.CLAIM - 1)
end

return ask
