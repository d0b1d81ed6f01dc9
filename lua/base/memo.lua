-- memo: a function that remembers its last answers by what it was asked, at most a thousand of them. `make(asked, ...)` finds an answer.
local MOST_KEPT = 1000

return function(make)
  local kept, count = {}, 0
  return function(asked, ...)
    local answer = kept[asked]
    if answer == nil then
      if count == MOST_KEPT then kept, count = {}, 0 end
      answer = make(asked, ...)
      kept[asked], count = answer, count + 1
    end
    return answer
  end
end
