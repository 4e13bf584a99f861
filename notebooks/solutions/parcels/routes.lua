--#ENDPOINT GET /_init
Keystore.set{key = "ready", value = "yes"}
return "ready"

--#ENDPOINT GET /parcels/{sn}
local sn = request.parameters.sn
if not sn:match("^[%w-]+$") then
  response.code = 400
  return {error = "sn: expected letters, digits and '-'"}
end
local where = "identifier='" .. sn .. "' AND time > now() - 7d"
local points, problem = query_points("SELECT value FROM shock WHERE " .. where .. " ORDER BY time DESC LIMIT 10")
local highest = query_points("SELECT max(value) FROM shock WHERE " .. where)
if not points then
  response.code = 500
  return {error = problem}
end
return {shocks = points, highest = highest[1] and highest[1][2], ready = Keystore.get{key = "ready"}.value}
