--#ENDPOINT GET /_init
-- The roles that /api/user/info knows. Nobody gets one here: who does is decided by whoever runs this solution,
-- with User.assignUser. It may run again.
local made = {}
for _, role_id in ipairs{"owner", "guest"} do
  local role = User.createRole{role_id = role_id, parameter = {{name = "infoUserId"}}}
  if role.status and role.status ~= 409 then -- 409: it is there
    return require("answers").hand_on(response, role)
  end
  made[#made + 1] = User.getRole{role_id = role_id}
end
return made

--#ENDPOINT GET /api/user/info/{email}
-- What the caller's roles let him know of a user.
local answers, people, sessions = require("answers"), require("people"), require("sessions")
response.headers["Cache-Control"] = "no-cache"
local me = sessions.user(request)
local email = request.parameters.email
local user = people.find(email)
if not me then
  return {message = email .. (user and " is already taken" or " is available")}
end
if not user then
  return answers.refuse(response, 404, "nobody has this email")
end
local function have_role(role_id)
  return User.hasUserRoleParam{
    id = me.id, role_id = role_id, parameter_name = "infoUserId", parameter_value = tostring(user.id),
  } == "OK"
end
if have_role("owner") then
  user.roles = User.listUserRoles{id = user.id}
  return user
end
if have_role("guest") then
  return {email = user.email, creation_date = user.creation_date}
end
return {email = user.email}
