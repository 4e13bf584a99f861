-- Old style: a global.
function current_user(headers)
  if headers.cookie == nil then
    return nil
  end
  local sid = string.match(headers.cookie, "sid=([^;]+)")
  local user = User.getCurrentUser({token = sid})
  if user ~= nil and user.id ~= nil then
    user.token = sid
    return user
  end
  return nil
end
