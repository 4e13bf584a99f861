--#ENDPOINT GET /pumps
local pumps = require("pumps")
return pumps.all()

--#ENDPOINT POST /pumps/{sn}/jobs
--#RATELIMIT 3
local pumps = require("pumps")
pumps.queue(request.parameters.sn, request.body)
response.code = 202
