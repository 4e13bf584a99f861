--#EVENT device datapoint
-- Each temperature that a device writes becomes a point, tagged with the device.
if data.alias == "temperature" then
  Tsdb.write{
    metrics = {temperature = tonumber(data.value[2])},
    tags = {sn = data.device_sn},
    ts = data.value[1] .. "s",
  }
end
