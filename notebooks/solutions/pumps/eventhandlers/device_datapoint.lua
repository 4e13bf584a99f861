local pumps = require("pumps")
if data.alias == "pressure" then
  pumps.seen(data.device_sn, data.value[2])
  local job = pumps.next(data.device_sn)
  if job then Device.write{pid = data.pid, device_sn = data.device_sn, job = job} end
end
