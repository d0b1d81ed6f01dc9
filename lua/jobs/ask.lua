-- ask: one call of reserve, packed into one argument. The twin is crates/intray-store/src/transitions/reserve/request.rs.
local memo = require 'base/memo'
local ask = {
  -- Mode, limit, lease ms, nonce, worker and by which credential it came (the note of the event), each behind its length; then so many
  -- claims, a secret and its digest each.
  FORMAT = '>BI2I4c16Bc0I2c0', CLAIM = $ID_LEN + 8,
  NEXT = 1,    -- the next jobs
  FRESH = 2,   -- the same, by a call that is certainly no repetition
  RESUME = 3,  -- the jobs that the caller holds
  THIS = 4,    -- the job whose id stands behind the claim
  -- Added to the mode: the call does not wait for overdue jobs to be swept.
  REGARDLESS = 128,
  -- Why jobs were passed over: their worker has skipped them; they are not for this worker; a gate without room holds them up.
  SKIPPED = 1, BARRED = 2, HELD_UP = 4,
  -- Behind the claims may stand the number of the worker's skills, with this added if more follows them, and each behind its length.
  MORE = 128,
}
local NO_SKILLS = {}

-- The skills as a set, whose list part holds the line of each, and where what follows them begins.
local function unpack_skills(packed)
  local at, skills = 2, {}
  for i = 1, packed:byte() % ask.MORE do
    local skill
    skill, at = struct.unpack('>Bc0', packed, at)
    skills[skill], skills[i] = true, '+' .. skill
  end
  return skills, at
end

-- Many workers have the same skills.
local skills_of = memo.new(function(packed) return (unpack_skills(packed)) end)

-- The skills of the worker, and what stands behind them.
local function read_skills(behind)
  if behind:byte() < ask.MORE then return memo.of(skills_of, behind), '' end
  local skills, at = unpack_skills(behind)
  return skills, behind:sub(at)
end

-- The skills of a worker as an argument of their own.
function ask.skills(packed)
  return packed ~= '' and read_skills(packed) or NO_SKILLS
end

-- The lines that a worker with these skills may look into, beside everybody's.
function ask.lines(worker, skills)
  return worker == '' and skills or {'@' .. worker, unpack(skills)}
end

-- Whether skills stand there, which are no code and no digit.
local function has_skills(behind)
  local first = behind:byte()
  return first and (first < 32 or first > 127)
end

-- Whether anything but skills stands behind the claims.
function ask.goes_on(packed, at)
  local first = packed:byte(at)
  return first and first >= 32
end

-- `id` is the job of mode THIS; `place` and `member` say where a continued call goes on, and `bits`, a digit before the place, why it has
-- passed over jobs so far.
function ask.read(packed)
  local mode, limit, lease_ms, nonce, worker, access, claims = struct.unpack(ask.FORMAT, packed)
  local is_regardless = mode >= ask.REGARDLESS
  if is_regardless then mode = mode - ask.REGARDLESS end
  local behind = packed:sub(claims + limit * ask.CLAIM)
  local skills = NO_SKILLS
  if has_skills(behind) then skills, behind = read_skills(behind) end
  local bits, place, member
  if behind ~= '' then bits, place, member = behind:match('^(%d)(%d+) (.+)') end
  return {
    mode = mode, limit = limit, lease_ms = lease_ms, nonce = nonce, worker = worker, access = access, packed = packed,
    claims = claims, is_regardless = is_regardless, skills = skills, id = behind, place = tonumber(place),
    member = member, bits = tonumber(bits or 0),
  }
end

-- The secret and its digest for the i-th job of a call.
function ask.claim(asked, i)
  local at = asked.claims + (i - 1) * ask.CLAIM
  return asked.packed:sub(at, at + $ID_LEN - 1), asked.packed:sub(at + $ID_LEN, at + ask.CLAIM - 1)
end

return ask
