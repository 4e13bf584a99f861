--#ENDPOINT GET /pumps/{sn}
--#TAGS pumps
--#SECURITY apiKey
local seen = Keystore.get({key = "seen." .. request.parameters.sn}).value
local total = Pumps.total({sn = request.parameters.sn})
local flooded = Keystore.command({key = "flooded", command = "smembers"}).value
return {seen = tonumber(seen), litres = total.litres, flooded = flooded}

--#ENDPOINT POST /pumps/{sn}/valve
--#TAGS pumps
--#RATELIMIT 30
local state = Device2.setIdentityState({identity = request.parameters.sn, valve = request.body.valve})
if state and state.error then
  response.code = state.status
  response.message = {error = state.error}
  return
end
response.code = 204
