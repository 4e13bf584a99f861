--#ENDPOINT PUT /rooms/{sn}
local ok, problem = set_target(request.parameters.sn, request.body.target)
if not ok then
  response.code = 404
  return {error = problem}
end
response.code = 204

--#ENDPOINT GET /rooms/{sn}
local points, problem = last_points(request.parameters.sn, "temperature", 2)
if not points then
  response.code = 404
  return {error = problem}
end
return {points = points, fan = Keystore.get{key = "fan:" .. request.parameters.sn}.value}
