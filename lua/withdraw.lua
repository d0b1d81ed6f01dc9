-- withdraw: a producer or operator cancels a batch. Its jobs go by steps of `stage`.   open | sealed -> called off
-- FLAGS  allow-oom
-- USES   clock write record batch event total commit
-- ARGV   batch
-- REPLY  {'withdrawn', record} | {'over', record}: completed or failed before | {'unknown'}
local code = ARGV[1]

local b = read_batch(code)
if not b or b.stage == MAKING or b.stage == REMOVING then return {'unknown'} end
if b.stage == ALL_DONE or b.stage == SOME_DEAD then return {'over', pack_batch(b)} end
if b.stage ~= WITHDRAWN and not is_marked(b, TO_CANCEL) then
  if b.stage ~= SEALED then seal(code, b) end
  b.marks, b.cursor = b.marks + TO_CANCEL, 0
  set_timer(code, now)
  batches_moved[code] = b
end
commit()
return counted({'withdrawn', pack_batch(b)})
