--#ENDPOINT GET /_init
User.createRole({role_id = "owner", parameter = {{name = "infoUserId"}}})
User.createRole({role_id = "guest", parameter = {{name = "infoUserId"}}})
local names = ""
for k, v in pairs(User.listRoles()) do
  names = names .. k .. v.role_id .. v.parameter[1].name .. " "
end
return names

--#ENDPOINT GET /api/user/info/{email}
local looked = User.listUsers({filter = "email::like::" .. request.parameters.email})
local me = current_user(request.headers)
if me == nil then
  if looked[1] == nil then
    return "available"
  end
  return "taken"
end
if looked[1] == nil then
  response.code = 404
  return
end
local user = looked[1]
local is_owner = User.hasUserRoleParam({
  id = me.id, role_id = "owner", parameter_name = "infoUserId", parameter_value = user.id,
})
if is_owner.error == nil then
  user.roles = User.listUserRoles({id = user.id})
  return user
end
local is_guest = User.hasUserRoleParam({
  id = me.id, role_id = "guest", parameter_name = "infoUserId", parameter_value = user.id,
})
if is_guest == 'OK' then
  return {email = user.email, creation_date = user.creation_date}
end
return {email = user.email}

--#ENDPOINT POST /set-up
User.createPermission({method = "GET", end_point = "lamp/{sn}/state"})
User.createRole({role_id = "keeper"})
User.addRolePerm({role_id = "keeper", body = {method = "GET", end_point = "lamp/{sn}/state"}})
User.addRoleParam({role_id = "keeper", body = {{name = "sn"}}})

--#ENDPOINT POST /keepers
local ret = User.assignUser({
  id = request.body.id,
  roles = {{role_id = "keeper", parameters = {{name = "sn", value = request.body.sn}}}},
})
if ret.error then
  response.code = ret.status
  return ret.message
end
local held = ""
for i, role in ipairs(ret) do
  for j, parameter in ipairs(role.parameters) do
    held = held .. role.role_id .. "." .. parameter.name .. "=" .. parameter.value .. " "
  end
end
return held

--#ENDPOINT DELETE /keepers
return User.deassignUserParam({
  id = request.parameters.id, role_id = "keeper", parameter_name = "sn", parameter_value = request.parameters.sn,
})

--#ENDPOINT GET /lamp/{sn}/state
-- All that the request brings becomes a parameter, and 403 alone counts as a refusal.
local me = current_user(request.headers)
local parameters = {}
for name, value in pairs(request.parameters) do
  parameters[#parameters + 1] = name .. "::" .. tostring(value)
end
local ret = User.hasUserPerm({id = me.id, perm_id = "GET/lamp/{sn}/state", parameters = parameters})
if ret.status == 403 then
  response.code = 403
  return "Permission denied"
end
return "on"

--#ENDPOINT GET /nobody/{id}
-- What there is none of is an empty list, in Lua and as JSON.
local id = request.parameters.id
local none = User.listUserRoles({id = id})
return {
  text = tostring(none), first = tostring(none[1]), length = #none,
  nothing = tostring(User.deleteRoleParamValue({role_id = "keeper", parameter_name = "sn", parameter_value = "0"})),
  lists = {
    none, User.socialList(), User.listUsers({filter = "email::like::nobody"}),
    User.getOauthClients({id = id}).oauth_clients,
    User.listRoleParamUsers({role_id = "keeper", parameter_name = "sn", parameter_value = "0"}),
  },
  page = User.listUserRoleParamValues({id = id, role_id = "keeper", parameter_name = "sn", offset = 0, limit = 10}),
}
