-- page: where a list goes on.
local page = {}
local call, floor = redis.call, math.floor

-- As Redis orders members of a score; Lua orders bytes as the server's language does.
local function precedes(one, other)
  for i = 1, math.min(#one, #other) do
    local a, b = one:byte(i), other:byte(i)
    if a ~= b then return a < b end
  end
  return #one < #other
end

-- Behind the one seen last. It may have left the set, or moved; then its score says where to go on, and among those of its
-- score, of which there may be any number, its name.
function page.rank_after(set, score, member)
  if score == '' then return 0 end
  local rank = call('ZSCORE', set, member) == score and call('ZRANK', set, member)
  if rank then return rank + 1 end
  local from, to = call('ZCOUNT', set, '-inf', '(' .. score), call('ZCOUNT', set, '-inf', score)
  while from < to do
    local middle = floor((from + to) / 2)
    if precedes(member, call('ZRANGE', set, middle, middle)[1]) then to = middle else from = middle + 1 end
  end
  return from
end

return page
