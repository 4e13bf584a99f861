-- What the social endpoints share.
local answers = require("answers")
local social = {}

-- Send the browser to a provider; url: what getSocialLoginUrl gave.
function social.go(response, url)
  if type(url) ~= "string" then
    return answers.hand_on(response, url)
  end
  response.code = 303
  response.headers.Location = url
  return {message = "Go on at the provider."}
end

-- What a provider tells of the person who came back from it; parameters: those of getSocialToken.
function social.who(response, parameters)
  local token = User.getSocialToken(parameters)
  if type(token) ~= "string" then
    return answers.hand_on(response, token)
  end
  local told = User.socialRequest{consumer = parameters.consumer, token = token}
  if type(told) ~= "string" then
    return answers.hand_on(response, told)
  end
  response.headers["Content-Type"] = "application/json" -- never a page, whatever the provider says
  response.headers["X-Content-Type-Options"] = "nosniff"
  response.headers["Cache-Control"] = "no-store"
  response.message = told
end

return social
