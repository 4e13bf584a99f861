--#ENDPOINT POST /people
local body = request.body
local code = User.createUser({email = body.email, name = body.name, password = body.password})
if type(code) ~= "string" then
  response.code = code.status_code
  return {error = from_json(code.error).message}
end
local sent = require("people").invite(body.email, code)
return {accepted = sent.accepted}

--#ENDPOINT GET /activate/{code}
local done = User.activateUser({code = request.parameters.code})
if done ~= "OK" then
  response.code = 400
  return "the code has expired"
end
response.code = 303
response.headers = {Location = "/"}

--#ENDPOINT POST /login
local token = User.getUserToken({email = request.body.email, password = request.body.password})
if type(token) == "table" then
  response.code = token.status
  return {error = "wrong name or password"}
end
return {token = token}

--#ENDPOINT POST /things
local user = require("people").current(request, response)
if not user then return end
local thing = Device2.getIdentityState({identity = request.body.sn})
if thing.error or thing.code.set ~= request.body.code then
  response.code = 403
  return {error = "wrong code"}
end
User.assignUser({
  id = user.id,
  roles = {{role_id = "owner", parameters = {{name = "sn", value = request.body.sn}}}},
})
User.createUserData({id = user.id, thing = request.body.sn})
return {things = User.listUserData({id = user.id})}

--#ENDPOINT GET /things/{sn}
local user = require("people").current(request, response)
if not user then return end
local sn = request.parameters.sn
local may = User.hasUserPerm({id = user.id, perm_id = "GET/things/{sn}", parameters = {"sn::" .. sn}})
if may ~= "OK" then
  response.code = 403
  return {error = "not yours"}
end
return {level = tonumber(Keystore.get({key = "level." .. sn}).value)}

--#ENDPOINT GET /people
return User.listUsers({filter = {"status::like::1"}})
