-- A module that is there by require.
local greeting = {}

function greeting.of(name)
  return "a greeting for the " .. name
end

return greeting
