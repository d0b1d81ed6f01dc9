-- commit: the end of a script that changes jobs: what was decided is written, told and counted.
-- USES   write order batch event total hint
local function commit()
  write()
  write_order()
  write_batches()
  if write_events() or ready > 0 then write_hint() end
  write_totals()
end
