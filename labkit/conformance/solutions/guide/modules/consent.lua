-- What an OAuth client asks a person for, and that the one who approves is the one who was asked.
local answers = require("answers")
local consent = {}

local ASKED = {"client_id", "redirect_uri", "response_type", "scope", "state"}

-- What the query asks for; nil where a name comes twice or a needed one is missing.
function consent.asked(parameters)
  local asked = {}
  for _, name in ipairs(ASKED) do
    local value = parameters[name]
    if value ~= nil and type(value) ~= "string" then
      return nil
    end
    asked[name] = value
  end
  return asked.client_id and asked.redirect_uri and asked.response_type and asked
end

-- The same, signed with the session's token: other sites, who do not know it, cannot make up such a form.
function consent.sealed(asked, token)
  return User.jwtSign{key = token, payload = asked, algorithm = "HS256"}.token
end

-- What was sealed for this session; nil for anything else.
function consent.opened(text, token)
  local asked = User.jwtVerify{key = token, token = text, algorithms = {"HS256"}}
  return type(asked) == "table" and not asked.error and consent.asked(asked) or nil
end

-- The redirect URI with a code, and the client's state as it came (RFC 6749, section 4.1.2).
function consent.with_code(asked, code)
  local separator = asked.redirect_uri:find("?", 1, true) and "&" or "?"
  local state = asked.state and "&state=" .. answers.url_encoded(asked.state) or ""
  return asked.redirect_uri .. separator .. "code=" .. answers.url_encoded(code) .. state
end

return consent
