--#ENDPOINT POST /members
local ret = User.createUser{name = request.body.name, email = request.body.email, password = request.body.password}
if ret.status ~= nil then
  response.code = ret.status_code
  return ret.error
end
User.activateUser{code = ret}
response.code = 201

--#ENDPOINT POST /session
local ret = User.getUserToken{email = request.body.email, password = request.body.password}
if ret ~= nil and ret.status ~= nil then
  response.code = ret.status_code
  return {error = "the name or the password is wrong"}
end
return {token = ret}

--#ENDPOINT PUT /me
--#SECURITY bearer
local user = require("session").user(request)
if not user then
  response.code = 401
  return {error = "sign in first"}
end
local ret = User.updateUser{id = user.id, name = request.body.name}
if ret.status ~= nil then
  response.code = ret.status
  return ret.error
end
return {name = User.getUser{id = user.id}.name}
