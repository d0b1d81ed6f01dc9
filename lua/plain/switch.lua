-- switch: the plain paths are second texts of what the complete ones do, for the calls that come by the thousand: nothing
-- is unusual about any of their jobs. A plain path says nil before it writes anything when something is.
local IS_ON = true

return IS_ON
