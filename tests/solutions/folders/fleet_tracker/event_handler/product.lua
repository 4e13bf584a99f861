-- data: api, rid, alias, device_sn, value
local value = kv_read(data.device_sn)
value[data.alias] = data.value[2]
value.pid = data.pid
kv_write(data.device_sn, value)
Keystore.command({key = "trackers", command = "sadd", args = {data.device_sn}})
if data.alias == "speed" then
  Timeseries.write({query = "speed,sn=" .. data.device_sn .. " value=" .. data.value[2]})
  if tonumber(data.value[2]) > 120 then
    Keystore.command({key = "fast." .. data.device_sn, command = "incr"})
    note(data.device_sn .. " is too fast")
  end
end
