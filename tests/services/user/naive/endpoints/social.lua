--#ENDPOINT GET /social/handle/{consumer}/loginurl
response.code = 303
response.headers["Location"] = User.getSocialLoginUrl({consumer = request.parameters.consumer})

--#ENDPOINT GET /social/handle/{consumer}
local token = User.getSocialToken(request.parameters)
if token.error then
  response.code = token.status
  return token.error
end
return User.socialRequest({consumer = request.parameters.consumer, token = token})

--#ENDPOINT GET /twitter/login
local token = User.getSocialLoginUrl({consumer = "twitter"})
response.code = 303
response.headers["Location"] = User.getSocialLoginUrl({consumer = "twitter", reqToken = token})
response.headers["Set-Cookie"] = "token=" .. token .. "; Path=/social/twitter"

--#ENDPOINT GET /social/twitter/handle
local parameters = request.parameters
parameters.consumer = "twitter"
parameters.reqToken = string.match(request.headers.cookie, "token=(%w+)")
local token = User.getSocialToken(parameters)
response.message = User.socialRequest({consumer = "twitter", token = token})
