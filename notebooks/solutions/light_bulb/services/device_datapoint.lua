local bulbs = require("bulbs")
if data.alias ~= "power" then return end
local state = data.value[2]
bulbs.set_state(data.device_sn, state)
if state == "on" then
  Timer.sendAfter{message = data.device_sn, duration = 4 * 60 * 60 * 1000, timer_id = "burns:" .. data.device_sn}
else
  Timer.cancel{timer_id = "burns:" .. data.device_sn}
end
