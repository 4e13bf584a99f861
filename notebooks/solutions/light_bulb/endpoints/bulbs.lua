--#ENDPOINT POST /bulbs/{sn}/owner
--#SUMMARY Claim a light bulb
local bulbs = require("bulbs")
if not bulbs.claim(request.parameters.sn, request.body.email) then
  response.code = 409
  response.message = {error = "this bulb has an owner"}
  return
end
response.code = 201
response.message = {owner = request.body.email}

--#ENDPOINT GET /bulbs/{sn}
local bulbs = require("bulbs")
local owner = bulbs.owner(request.parameters.sn)
if not owner then
  response.code = 404
  return {error = "nobody has claimed this bulb"}
end
return {owner = owner, state = bulbs.state(request.parameters.sn)}
