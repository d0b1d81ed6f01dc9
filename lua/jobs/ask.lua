-- ask: one call of reserve, packed into one argument. The twin is src/store/transitions/reserve/request.rs.
local ask = {
  -- Mode, limit, lease ms, nonce, worker behind its length; then so many claims, a secret and its digest each.
  FORMAT = '>BI2I4c16Bc0', CLAIM = $ID_LEN + 8,
  NEXT = 1,    -- the next jobs
  FRESH = 2,   -- the same, by a call that is certainly no repetition
  RESUME = 3,  -- the jobs that the caller holds
  THIS = 4,    -- the job whose id stands behind the claim
  -- Added to the mode: the call does not wait for overdue jobs to be swept.
  REGARDLESS = 128,
}

-- `id` is the job of mode THIS; `place` and `member` say where a continued call goes on, `skipped` that it has met a job that its
-- worker has skipped: '+' stands before the place.
function ask.read(packed)
  local mode, limit, lease_ms, nonce, worker, claims = struct.unpack(ask.FORMAT, packed)
  local is_regardless = mode >= ask.REGARDLESS
  if is_regardless then mode = mode - ask.REGARDLESS end
  local behind = packed:sub(claims + limit * ask.CLAIM)
  local skipped, place, member = behind:match('^(%+?)(%d+) (.+)')
  return {
    mode = mode, limit = limit, lease_ms = lease_ms, nonce = nonce, worker = worker, packed = packed, claims = claims,
    is_regardless = is_regardless, id = behind, place = tonumber(place), member = member, skipped = skipped == '+',
  }
end

-- The secret and its digest for the i-th job of a call.
function ask.claim(asked, i)
  local at = asked.claims + (i - 1) * ask.CLAIM
  return asked.packed:sub(at, at + $ID_LEN - 1), asked.packed:sub(at + $ID_LEN, at + ask.CLAIM - 1)
end

return ask
