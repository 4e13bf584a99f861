local bulbs = require("bulbs")
local sn = request.message
local owner = bulbs.owner(sn)
if owner then
  Email.send{to = owner, subject = "Your light still burns", text = "Bulb " .. sn .. " has been on for four hours."}
end
