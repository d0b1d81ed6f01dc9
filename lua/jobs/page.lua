-- page: finds where the next page of a list begins.
local page = {}
local call, floor = redis.call, math.floor

-- The order of Redis for equal scores. Lua compares by the locale of the server.
local function precedes(one, other)
  for i = 1, math.min(#one, #other) do
    local a, b = one:byte(i), other:byte(i)
    if a ~= b then return a < b end
  end
  return #one < #other
end

-- The rank after the last member seen. If that has left or moved, its old score and, among equal scores, its name decide.
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
