-- Access control of endpoints: may the caller use this route, with these values of its placeholders?
local answers, sessions = require("answers"), require("sessions")
local guard = {}

-- The caller, or nil and a refusal.
function guard.pass(request, response)
  local user = sessions.user(request)
  if not user then
    return nil, answers.refuse(response, 401, "log in first")
  end
  local values = {}
  for name in request.route:gmatch("{(%w+)}") do
    values[#values + 1] = name .. "::" .. request.parameters[name]
  end
  local perm_id = request.method .. request.route -- the route begins with the slash between them
  if User.hasUserPerm{id = user.id, perm_id = perm_id, parameters = values} ~= "OK" then
    return nil, answers.refuse(response, 403, "no role of yours allows " .. perm_id .. " here")
  end
  return user
end

return guard
