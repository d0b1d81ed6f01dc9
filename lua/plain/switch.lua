-- switch: the plain paths are second texts of what the whole ones do, for the calls that come by the thousand: nothing is
-- unusual about any of their jobs. A plain path answers nil, before it has written anything, when something is.
local switch = {}
switch.is_on = $PLAIN == 1

return switch
