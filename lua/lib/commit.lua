-- commit: the end of a script that changes jobs: what was decided is written, told and counted.
-- USES   write event total
local function commit()
  write()
  write_events()
  write_totals()
end
