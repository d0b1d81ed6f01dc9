-- commit: the end of a script that changes jobs: what was decided is written, told and counted.
-- USES   write batch event total hint
local function commit()
  write()
  write_batches()
  if write_events() or ready > 0 then write_hint() end
  write_totals()
end
