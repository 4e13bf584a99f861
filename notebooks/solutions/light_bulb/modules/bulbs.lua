-- Who owns which bulb, and what is known of it.
local bulbs = {}

local function key(sn, name) return "bulb:" .. sn .. ":" .. name end

function bulbs.claim(sn, email)
  local answer = Keystore.command{key = key(sn, "owner"), command = "setnx", args = {email}}
  return answer.value == 1
end

function bulbs.owner(sn) return Keystore.get{key = key(sn, "owner")}.value end
function bulbs.state(sn) return Keystore.get{key = key(sn, "state")}.value or "off" end
function bulbs.set_state(sn, state) Keystore.set{key = key(sn, "state"), value = state} end

return bulbs
