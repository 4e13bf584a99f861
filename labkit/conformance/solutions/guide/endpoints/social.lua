--#ENDPOINT GET /social/handle/{consumer}/loginurl
local url = User.getSocialLoginUrl{consumer = request.parameters.consumer}
if type(url) == "string" and not url:match("^https?://") then -- a request token
  return require("answers").refuse(response, 404, "a provider of OAuth 1: begin at /<consumer>/login")
end
return require("social").go(response, url)

--#ENDPOINT GET /social/handle/{consumer}
-- The provider sends the browser back to here; the operation takes of the query what it knows.
return require("social").who(response, request.parameters)

--#ENDPOINT GET /{consumer}/login
-- For a provider of OAuth 1: a request token first, which only this browser keeps.
local answers, social = require("answers"), require("social")
local consumer = request.parameters.consumer
local token = User.getSocialLoginUrl{consumer = consumer}
if type(token) ~= "string" then
  return answers.hand_on(response, token)
end
if not token:match("^%w+$") or not consumer:match("^[%w._-]+$") then
  return answers.refuse(response, 404, "not a provider of OAuth 1: use /social/handle/<consumer>/loginurl")
end
local path = "/social/" .. consumer
response.headers["Set-Cookie"] = "token=" .. token .. "; Path=" .. path .. "; HttpOnly; Secure; SameSite=Lax"
return social.go(response, User.getSocialLoginUrl{consumer = consumer, reqToken = token})

--#ENDPOINT GET /social/{consumer}/handle
-- Only the browser that began has the cookie: a link with someone else's callback leads nowhere.
local parameters = request.parameters
parameters.reqToken = require("sessions").cookie(request, "token")
if not parameters.reqToken then
  return require("answers").refuse(response, 400, "cookie token is missing: begin at /<consumer>/login")
end
return require("social").who(response, parameters)
