-- commit: the end of a script that changes jobs: what was decided is written, told and counted.
-- USES   write batch event total
local function commit()
  write()
  write_batches()
  write_events()
  write_totals()
end
