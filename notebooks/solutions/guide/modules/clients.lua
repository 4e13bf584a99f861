-- OAuth clients: how they prove who they are, and what their access tokens are for.
local base64 = require("base64")
local clients = {}

-- Text of a form, as Basic has it too (RFC 6749, section 2.3.1).
local function decoded(text)
  return (text:gsub("+", " "):gsub("%%(%x%x)", function(digits)
    return string.char(tonumber(digits, 16))
  end))
end

-- client_id and client_secret of a request for tokens: by HTTP Basic, or from the body. Nil, a status and an error of
-- RFC 6749, section 5.2, where they cannot be told.
function clients.credentials(request, given)
  local header = request.headers.authorization
  if not header then
    return {id = given.client_id, secret = given.client_secret}
  end
  local scheme, text = header:match("^(%a+) +(%S+)$")
  local pair = scheme and scheme:lower() == "basic" and base64.decode(text)
  local id, secret = (pair or ""):match("^([^:]*):(.*)$")
  if not id then
    return nil, 401, "invalid_client"
  end
  id, secret = decoded(id), decoded(secret)
  if given.client_secret or (given.client_id and given.client_id ~= id) then
    return nil, 400, "invalid_request" -- one way to authenticate, and one client
  end
  return {id = id, secret = secret}
end

-- The scopes of an access token, as {name = true}; nil for any other token. Who asks must have the token verified.
function clients.scopes(token)
  local payload = base64.decode(token:match("^[^.]*%.([^.]*)%.[^.]*$") or "")
  local claims = from_json(payload or "")
  if type(claims) ~= "table" or type(claims.scopes) ~= "table" then
    return nil
  end
  local scopes = {}
  for _, name in ipairs(claims.scopes) do
    scopes[name] = true
  end
  return scopes
end

return clients
