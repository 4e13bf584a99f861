-- the schedule raises this each hour, and each day
if request.message == "hourly" then
  local devices = Device2.listIdentities({limit = 100}).devices
  for _, device in ipairs(devices) do
    local answer = Forecasts.current({station = device.identity, units = "metric"})
    if answer.error == nil then
      Keystore.command({key = "forecast." .. device.identity, command = "lpush", args = {to_json(answer)}})
    end
  end
else
  Keystore.command({key = "days", command = "incr"})
end
