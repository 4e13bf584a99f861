--#ENDPOINT POST /api/session/login
-- {email, password}: the token goes into the cookie sid. Whoever fails is logged out, too.
local answers, sessions = require("answers"), require("sessions")
local given, refusal = answers.json(request, response)
if not given then
  return refusal
end
sessions.clear(response)
local token = User.getUserToken{email = given.email, password = given.password}
if type(token) ~= "string" then
  return answers.hand_on(response, token, 401)
end
sessions.keep(response, token)
response.headers.Location = "/api/session/user"
response.code = 303
return {message = "You are logged in."}

--#ENDPOINT GET /api/session/user
response.headers["Cache-Control"] = "no-cache"
local user = require("sessions").user(request)
return user or require("answers").refuse(response, 400, "no valid session: log in first")
