-- page: where a list goes on.
local page = {}

-- Behind the one seen last. It may have left the set, or moved; then its score says where to go on.
function page.rank_after(set, score, member)
  if score == '' then return 0 end
  local rank = redis.call('ZSCORE', set, member) == score and redis.call('ZRANK', set, member)
  return rank and rank + 1 or redis.call('ZCOUNT', set, '-inf', '(' .. score)
end

return page
