-- follow: a call that passes over the same jobs as one before it in the script continues where that one ended.
local follow = {}

-- A call has been given nothing. `seen`: what it has passed over; `key`: all calls with the same pass over the same.
function follow.note(q, key, seen)
  local l, cursors = q.line, {}
  for _, s in ipairs(l.active) do cursors[s.line] = s.cursor end
  l.ended = {key = key, seen = seen, cursors = cursors, looked = l.looked}
end

-- Continues where the last such call ended, if the current one has no jobs in a line of its own. Returns what was passed over.
function follow.on(q, key)
  local l = q.line
  local before = l.ended
  if before.key ~= key then return end
  for _, s in ipairs(l.active) do
    if not before.cursors[s.line] and not (s.ends and #s < s.first) then return end
  end
  for _, s in ipairs(l.active) do s.cursor = before.cursors[s.line] or s.cursor end
  l.looked = before.looked
  return before.seen
end

return follow
