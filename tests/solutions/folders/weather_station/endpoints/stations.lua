--#ENDPOINT GET /stations/{id}
--#TAGS public
local identity = Device2.getIdentity({identity = request.parameters.id})
if identity.error then
  response.code = identity.status
  return {error = "unknown station"}
end
return {period = identity.state.period, temperature = identity.state.temperature, tags = identity.tags}

--#ENDPOINT GET /stations/{id}/mean
return require("local.readings").mean(request.parameters.id, "temperature")

--#ENDPOINT PUT /stations/{id}/period
local done = Device2.setIdentityState({identity = request.parameters.id, period = request.body.seconds})
if done and done.error then
  response.code = 400
  return {error = done.error}
end
return "OK"
