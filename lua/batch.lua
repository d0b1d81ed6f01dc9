-- batch: all that is known of one batch.   reads only
-- FLAGS  no-writes
-- USES   clock record event batch
-- ARGV   batch
-- REPLY  {'batch', record} | {'unknown'}
local b = read_batch(ARGV[1])
if not b or b.stage == MAKING or b.stage == REMOVING then return {'unknown'} end
return {'batch', pack_batch(b)}
