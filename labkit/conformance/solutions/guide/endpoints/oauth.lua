--#ENDPOINT GET /oauth/authorize
-- Asks the person who is logged in whether a client may act for him (RFC 6749, section 4.1.1).
local consent, pages = require("consent"), require("pages")
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
  pages.escaped(asked.scope or "none"),
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
local answers = require("answers")
local given = answers.fields(request)
response.headers["Cache-Control"] = "no-store"
local set = User.getOauthToken{
  grant_type = given.grant_type,
  client_id = given.client_id,
  client_secret = given.client_secret,
  code = given.code,
  redirect_uri = given.redirect_uri,
  refresh_token = given.refresh_token,
}
if not answers.failed(set) then
  return set
end
local told = answers.told(set)
response.code = set.status
return {error = told.code or "invalid_request", error_description = told.message}
