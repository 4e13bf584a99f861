--#ENDPOINT GET /_init
User.createSocial({
  consumer = "google",
  client_id = "front-door",
  client_secret = "front-door-secret",
  scope = {"profile", "email"},
  redirect = "https://" .. Config.solution().domain .. "/social/google",
})

--#ENDPOINT GET /social/{consumer}/login
local url = User.getSocialLoginUrl({consumer = request.parameters.consumer})
if type(url) ~= "string" then
  response.code = url.status
  return url
end
response.code = 302
response.headers = {Location = url}

--#ENDPOINT GET /social/{consumer}
local token = User.getSocialToken(request.parameters)
if type(token) ~= "string" then
  response.code = 401
  return {error = token.error}
end
local person = User.socialRequest({consumer = request.parameters.consumer, token = token})
return from_json(person)

--#ENDPOINT POST /clients
local user = session_of(request)
if user == nil then
  response.code = 401
  return "sign in first"
end
local made = User.createOauthClient({id = user.id, name = request.body.name, redirect = request.body.redirect})
return {client_id = made.id, client_secret = made.secret}

--#ENDPOINT POST /session
local token = User.getUserToken({email = request.body.email, password = request.body.password, time_to_live = 86400})
if type(token) ~= "string" then
  response.code = 403
  return {error = from_json(token.error).message}
end
response.headers = {["Set-Cookie"] = "sid=" .. token .. "; HttpOnly; Secure"}
return {token = token}

--#ENDPOINT POST /oauth/approve application/x-www-form-urlencoded
local user = session_of(request)
if user == nil then
  response.code = 401
  return "sign in first"
end
local code = User.getOauthAuthorizeApproved({
  token = user.token,
  client_id = tonumber(request.body.client_id),
  redirect_uri = request.body.redirect_uri,
  response_type = "code",
})
if type(code) == "table" then
  response.code = code.status
  return code
end
response.code = 302
response.headers = {Location = request.body.redirect_uri .. "?code=" .. code}

--#ENDPOINT POST /oauth/token application/x-www-form-urlencoded
local given = request.body
local set = User.getOauthToken({
  grant_type = given.grant_type,
  client_id = tonumber(given.client_id),
  client_secret = given.client_secret,
  code = given.code,
  redirect_uri = given.redirect_uri,
  refresh_token = given.refresh_token,
})
if set.error then response.code = set.status end
return set

--#ENDPOINT GET /me
local user = session_of(request)
if user then return {name = user.name} end
response.code = 401
return "who are you?"
