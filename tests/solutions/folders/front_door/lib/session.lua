function session_of(request)
  local header = request.headers.authorization or ""
  local token = header:match("^Bearer (.+)$") or (request.headers.cookie or ""):match("sid=([^;]+)")
  if token == nil then return nil end
  local user = User.getCurrentUser({token = token})
  if user == nil or user.error ~= nil then return nil end
  user.token = token
  return user
end
