--#ENDPOINT POST /_init/devices
-- Steps 1 to 3 of endpoint-level access control: the routes below become permissions, two roles carry them, and
-- both have the parameter sn. Nobody gets a role here, so anybody may run it, and again. The first keeper of a
-- device is named by whoever runs this solution, with User.assignUser; keepers then name its readers (step 4) and
-- dismiss them (step 6). So nobody can give what he does not hold himself.
local answers = require("answers")
local see = {method = "GET", end_point = "api/devices/{sn}"}
local name = {method = "PUT", end_point = "api/devices/{sn}/readers"}
local dismiss = {method = "DELETE", end_point = "api/devices/{sn}/readers"}
local roles = {
  {role_id = "reader", permissions = {see}},
  {role_id = "keeper", permissions = {see, name, dismiss}},
}
local function set_up()
  local results = {}
  for _, permission in ipairs{see, name, dismiss} do
    results[#results + 1] = User.createPermission(permission)
  end
  for _, role in ipairs(roles) do
    results[#results + 1] = User.createRole{role_id = role.role_id}
    results[#results + 1] = User.addRolePerm{role_id = role.role_id, body = role.permissions}
    results[#results + 1] = User.addRoleParam{role_id = role.role_id, body = {{name = "sn"}}}
  end
  return results
end
for _, result in ipairs(set_up()) do
  if answers.failed(result) and result.status ~= 409 then -- 409: it is there
    return answers.hand_on(response, result)
  end
end
return User.listRoles()

--#ENDPOINT GET /api/devices/{sn}
local user, refusal = require("guard").pass(request, response) -- step 5
return refusal or {sn = request.parameters.sn, seen_by = user.email}

--#ENDPOINT PUT /api/devices/{sn}/readers
-- {email}: a further reader of this device.
local answers = require("answers")
local user, refusal = require("guard").pass(request, response)
if not user then
  return refusal
end
local given, refused = answers.json(request, response)
if not given then
  return refused
end
local reader = require("people").find(answers.text(given.email) or "")
if not reader then
  return answers.refuse(response, 404, "nobody has this email")
end
local roles = User.assignUser{
  id = reader.id,
  roles = {{role_id = "reader", parameters = {{name = "sn", value = request.parameters.sn}}}},
}
return answers.failed(roles) and answers.hand_on(response, roles) or {email = reader.email}

--#ENDPOINT DELETE /api/devices/{sn}/readers
-- ?email=…: no reader of this device any more.
local answers = require("answers")
local user, refusal = require("guard").pass(request, response)
if not user then
  return refusal
end
local reader = require("people").find(answers.text(request.parameters.email) or "")
if not reader then
  return answers.refuse(response, 404, "nobody has this email")
end
local roles = User.deassignUserParam{
  id = reader.id, role_id = "reader", parameter_name = "sn", parameter_value = request.parameters.sn,
}
return answers.failed(roles) and answers.hand_on(response, roles) or {email = reader.email}
