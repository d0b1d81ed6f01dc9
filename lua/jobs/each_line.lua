-- each_line: the first lines of a queue, at most `most`: {line, how many jobs wait in it, its first member} each.
return function(q, most)
  local found, from = {}, '-'
  while #found < most do
    local first = redis.call('ZRANGE', q.lines, from, '+', 'BYLEX', 'LIMIT', '0', '1')[1]
    if not first then break end
    local line = first:sub(1, first:find('\0', 1, true) - 1)
    local past = '(' .. line .. '\1'
    found[#found + 1] = {line, redis.call('ZLEXCOUNT', q.lines, '[' .. line .. '\0', past), first}
    from = past
  end
  return found
end
