-- the doorbell talks, too
if data.alias == "ring" then
  require("rooms").say("lobby", {from = data.device_sn, text = "rings " .. data.value[2]})
end
