--#EVENT scripts round
require("jobs").round(data.at)

--#EVENT scripts double
return {twice = data.number * 2}
