--#ENDPOINT POST /clients
return User.createOauthClient({id = request.body.id, name = "Shop", redirect = request.body.redirect})

--#ENDPOINT GET /clients/{id}
return User.getOauthClientRedirectPath({client_id = request.parameters.id})

--#ENDPOINT GET /authorize_approved
local code = User.getOauthAuthorizeApproved({
  token = string.match(request.headers.cookie, "sid=([^;]+)"),
  client_id = request.parameters.client_id, redirect_uri = request.parameters.redirect_uri,
  response_type = request.parameters.response_type, scope = request.parameters.scope,
})
if code.error then
  response.code = code.status
  return from_json(code.error).message
end
response.code = 303
response.headers["Location"] = request.parameters.redirect_uri .. "?code=" .. code

--#ENDPOINT POST /token application/x-www-form-urlencoded
local set = User.getOauthToken({
  grant_type = request.body.grant_type, client_id = request.body.client_id,
  client_secret = request.body.client_secret, code = request.body.code,
  redirect_uri = request.body.redirect_uri, refresh_token = request.body.refresh_token,
})
if set.error ~= nil then
  response.code = set.status
  return {error = from_json(set.error).code}
end
return set

--#ENDPOINT GET /me
local me = User.getCurrentUser({token = string.match(request.headers.authorization, "^Bearer (.+)$")})
if me.id == nil then
  response.code = me.status
  return me
end
return me.id + 0
