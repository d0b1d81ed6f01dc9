-- stage: goes on with a long work on a batch, one bounded step.   making -> gone, opening -> open | sealed, called off
-- FLAGS  allow-oom
-- USES   clock write record batch gate leave dedupe ending gone stage event total commit
-- KEYS   batches hash
-- ARGV   batch, 'on' | 'give up' (a creation that cannot be finished)
-- REPLY  {'more' | 'done'} | {'unknown'}
local code = ARGV[1]

local b = read_batch(code)
if not b then return {'unknown'} end
if ARGV[2] == 'give up' and b.stage == MAKING then b.stage, b.cursor = REMOVING, 0 end
stage_step(code, b, false)
commit()
return counted({is_unfinished(b) and redis.call('HEXISTS', batches, code) == 1 and 'more' or 'done'})
