--#EVENT user account
-- A password that updateUser changed ends the reset tokens that were asked for before; /api/resetPassword sees to its own.
local reset_tokens = require("reset_tokens")
for _, field in ipairs(event.operation == "updateUser" and event.changed or {}) do
  if field == "password" then
    reset_tokens.forget(event.id)
  end
end
