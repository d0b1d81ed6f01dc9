-- call: what a call begins with. All of its state is in `q`: the names of the queue's keys, and what the modules put beside
-- them; nothing of a call stays in a module.
return function(q)
  q.calls, q.told, q.ready = 0, 0, 0
  q.adds, q.drops, q.gathered, q.at_end, q.tale, q.kinds, q.sums = {}, {}, {}, {}, {}, {}, {}
  return q
end
