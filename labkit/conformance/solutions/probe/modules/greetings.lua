-- A module that is there by the global that it sets.
function greeting_of_all(name)
  return "a greeting of all for the " .. name
end
