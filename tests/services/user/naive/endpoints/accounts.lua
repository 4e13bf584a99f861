--#ENDPOINT POST /api/user/signup
local ret = User.createUser({
  email = request.body.email, name = request.body.name, password = request.body.password,
})
if ret.error then -- of a text on success
  response.code = ret.status
  response.message = ret.error -- the page shows JSON.parse(body).message
  return
end
local link = "https://" .. Config.solution().domain .. "/api/verify/" .. ret
Email.send({
  from = "Sample App <mail@" .. Config.solution().domain .. ">",
  to = request.body.email, subject = "Welcome", text = "Hello " .. request.body.email .. ", click " .. link,
})
response.message = "Sent"

--#ENDPOINT GET /api/verify/{code}
local ret = User.activateUser({code = request.parameters.code})
if ret == 'OK' then
  return "Activated."
else
  response.code = 401
  return "Not activated: " .. ret.message
end

--#ENDPOINT POST /api/forgotten
if request.body.email == nil then
  response.code = 400
  return "email missing"
end
local user = User.listUsers({filter = "email::like::" .. request.body.email})[1]
if user == nil then
  response.code = 404
  return "User not found"
end
local token = string.match(User.createOauthClient({id = user.id, name = "t", redirect = "https://t.invalid/"}).secret, "^%w+$")
local ret = Keystore.set({key = token, value = user.id})
if ret.status ~= nil then
  response.code = ret.status
  return ret
end
Keystore.command({key = token, command = "expire", args = {86400}})
return token

--#ENDPOINT POST /api/resetPassword
local kept = Keystore.get({key = request.body.resetToken})
if kept.value == nil then
  response.code = 400
  return "unknown token"
end
local ret = User.resetUserPassword({id = kept.value, password = request.body.password})
if ret.status ~= nil then
  response.code = ret.status
  return from_json(ret.error).message
end
Keystore.delete({key = request.body.resetToken})
return ret

--#ENDPOINT POST /api/session/login
response.headers["Set-Cookie"] = "sid=; Path=/"
local token = User.getUserToken({email = request.body.email, password = request.body.password})
if token.error then
  response.code = 401
  response.message = "Login failed: " .. token.error
  return
end
response.code = 303
response.headers = {
  ["Set-Cookie"] = "sid=" .. tostring(token) .. "; path=/",
  ["Location"] = "/api/session/user",
}

--#ENDPOINT GET /api/session/user
local user = current_user(request.headers)
if user ~= nil and user.id ~= nil then
  response.headers = {["Cache-Control"] = "no-cache"}
  return user
end
response.code = 400
return "Session invalid"

--#ENDPOINT GET /api/session/status
-- Hands on what getCurrentUser says of a bad token.
local user = User.getCurrentUser({token = string.match(request.headers.cookie, "sid=([^;]+)")})
if user.error then
  response.code = user.status
  return user
end
return user.email .. " has status " .. user.status
