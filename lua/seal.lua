-- seal: a producer says that nothing more comes into a batch.   open -> sealed | completed | failed
-- FLAGS  allow-oom
-- USES   clock write record batch event total commit
-- ARGV   batch
-- REPLY  {'sealed', record} | {'unknown'}
local code = ARGV[1]

local b = read_batch(code)
if not b or b.stage == MAKING or b.stage == REMOVING then return {'unknown'} end
if b.stage == OPENING and not is_marked(b, TO_SEAL) then
  b.marks = b.marks + TO_SEAL
  batches_moved[code] = b
elseif b.stage == OPEN then
  seal(code, b)
  batches_moved[code] = b
end
commit()
return counted({'sealed', pack_batch(b)})
