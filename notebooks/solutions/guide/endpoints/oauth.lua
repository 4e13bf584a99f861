--#ENDPOINT GET /oauth/authorize
-- Asks the person who is logged in whether a client may act for him (RFC 6749, section 4.1.1).
local answers, consent, pages = require("answers"), require("consent"), require("pages")
local asked = consent.asked(request.parameters)
if not asked then
  return pages.refuse(response, 400, "expected client_id, redirect_uri and response_type, each once")
end
local user, token = require("sessions").user(request)
if not user then
  return pages.refuse(response, 401, "Log in first, then open this page again.")
end
return pages.show(response, "May it act for you?", ([[
<p>You are %s. Client %s asks to act for you (scope: %s). If you approve, you go on to %s
<form method="post">
<input type="hidden" name="asked" value="%s">
<button>Approve</button>
</form>
]]):format(
  pages.escaped(user.email),
  pages.escaped(asked.client_id),
  pages.escaped(answers.text(asked.scope) or "none"),
  pages.escaped(asked.redirect_uri),
  pages.escaped(consent.sealed(asked, token))
))

--#ENDPOINT POST /oauth/authorize application/x-www-form-urlencoded
-- The person approved. Where the client or its redirect URI is wrong, nobody is sent anywhere.
local answers, consent, pages = require("answers"), require("consent"), require("pages")
local user, token = require("sessions").user(request)
if not user then
  return pages.refuse(response, 401, "Log in first, then open the page again.")
end
local asked = consent.opened(answers.text(answers.fields(request).asked) or "", token)
if not asked then
  return pages.refuse(response, 400, "The form was not made for this session: open the page again.")
end
local code = User.getOauthAuthorizeApproved{
  token = token,
  client_id = asked.client_id,
  redirect_uri = asked.redirect_uri,
  response_type = asked.response_type,
  scope = asked.scope or "",
}
if type(code) ~= "string" then
  return pages.refuse(response, code.status, answers.told(code).message)
end
response.code = 303
response.headers.Location = consent.with_code(asked, code)
response.headers["Cache-Control"] = "no-store"
return {message = "Approved."}

--#ENDPOINT GET /authorize_approved
-- The path that User.getOauthClientRedirectPath gives. To open it is no approval yet: the page asks.
local answers, consent = require("answers"), require("consent")
local asked = consent.asked(request.parameters)
if not asked then
  return answers.refuse(response, 400, "expected client_id, redirect_uri and response_type, each once")
end
local query = {}
for name, value in pairs(asked) do
  query[#query + 1] = name .. "=" .. answers.url_encoded(value)
end
response.code = 303
response.headers.Location = "/oauth/authorize?" .. table.concat(query, "&")

--#ENDPOINT POST /oauth/token application/x-www-form-urlencoded
-- Tokens for a code or a refresh token (RFC 6749, sections 4.1.3 and 6). Only the fields named here go on: the
-- lifetimes are this solution's to set, never a client's.
local answers, clients = require("answers"), require("clients")
local given = answers.fields(request)
response.headers["Cache-Control"] = "no-store"
local function refuse(status, code, description)
  response.code = status
  if status == 401 and request.headers.authorization then
    response.headers["WWW-Authenticate"] = 'Basic realm="oauth"'
  end
  return {error = code, error_description = description}
end
local client, status, problem = clients.credentials(request, given)
if not client then
  return refuse(status, problem, "the client authenticates by Basic, or in the body, and once")
end
local set = User.getOauthToken{
  grant_type = given.grant_type,
  client_id = client.id,
  client_secret = client.secret,
  code = given.code,
  redirect_uri = given.redirect_uri,
  refresh_token = given.refresh_token,
}
if not answers.failed(set) then
  return set
end
local told = answers.told(set)
return refuse(set.status, told.code or "invalid_request", told.message)

--#ENDPOINT GET /oauth/userinfo
-- What a client may know of the person whose access token it shows (RFC 6750): the scope profile opens the name, the
-- scope email the address.
local answers, clients = require("answers"), require("clients")
response.headers["Cache-Control"] = "no-store"
local function challenge(status, code)
  response.headers["WWW-Authenticate"] = 'Bearer realm="oauth"' .. (code and ', error="' .. code .. '"' or "")
  return answers.refuse(response, status, code or "show an access token")
end
local token = (request.headers.authorization or ""):match("^[Bb][Ee][Aa][Rr][Ee][Rr] +(%S+)$")
if not token then
  return challenge(401)
end
local scopes, user = clients.scopes(token), User.getCurrentUser{token = token}
if not scopes or answers.failed(user) then
  return challenge(401, "invalid_token")
end
if not scopes.profile and not scopes.email then
  return challenge(403, "insufficient_scope")
end
return {sub = tostring(user.id), name = scopes.profile and user.name, email = scopes.email and user.email}
