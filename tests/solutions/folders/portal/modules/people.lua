local people = {}

function people.current(request, response)
  local token = (request.headers.authorization or ""):gsub("^Bearer ", "")
  local user = User.getCurrentUser({token = token})
  if not user or user.error then
    response.code = 401
    response.message = "invalid login"
    return nil
  end
  return user
end

function people.invite(email, code)
  return Email.send({
    to = email,
    subject = "Welcome",
    html = ("<a href='https://%s/activate/%s'>Activate</a>"):format(Config.solution().domain, code),
    text = "Activate your account: https://" .. Config.solution().domain .. "/activate/" .. code,
  })
end

return people
