--#EVENT device datapoint
require("told").keep(data.device_sn, "datapoint", data)
if data.value[2] == "fail, please" then
  error("as it was asked to")
end

--#EVENT device2 event
require("told").keep(event.identity, "event", event)
