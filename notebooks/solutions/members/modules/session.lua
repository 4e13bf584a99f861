local session = {}

function session.user(request)
  local token = (request.headers.authorization or ""):match("^[Bb]earer (.+)$")
  if not token then return nil end
  local user = User.getCurrentUser{token = token}
  if user ~= nil and user.id ~= nil and user.error == nil then return user end
end

return session
