-- Who calls: the user token is kept in the cookie sid.
local clients = require("clients")
local sessions = {}

-- Scripts of a page cannot read the cookie, and forms of other sites do not send it.
local COOKIE = "sid=%s; Path=/; HttpOnly; Secure; SameSite=Lax%s"

function sessions.keep(response, token)
  response.headers["Set-Cookie"] = COOKIE:format(token, "")
end

function sessions.clear(response)
  response.headers["Set-Cookie"] = COOKIE:format("", "; Max-Age=0")
end

-- The value of a cookie, or nil.
function sessions.cookie(request, wanted)
  for name, value in (request.headers.cookie or ""):gmatch("([^=;%s]+)=([^;]*)") do
    if name == wanted and value ~= "" then
      return value
    end
  end
end

-- The user who is logged in, and the token; nil where nobody is. What a person let a client do is no login: an access
-- token is none, although it names its user too.
function sessions.user(request)
  local token = sessions.cookie(request, "sid")
  if not token or clients.scopes(token) then
    return nil
  end
  local user = User.getCurrentUser{token = token}
  if type(user) == "table" and user.id then
    return user, token
  end
end

return sessions
