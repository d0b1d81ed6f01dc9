-- memo: answers that are kept by what was asked, at most a thousand of them. `make(asked)` finds one.
local memo = {}
local MAX_KEPT = 1000

function memo.new(make)
  return {make = make, kept = {}, count = 0}
end

function memo.of(m, asked)
  local answer = m.kept[asked]
  if answer == nil then
    if m.count == MAX_KEPT then m.kept, m.count = {}, 0 end
    answer = m.make(asked)
    m.kept[asked], m.count = answer, m.count + 1
  end
  return answer
end

return memo
