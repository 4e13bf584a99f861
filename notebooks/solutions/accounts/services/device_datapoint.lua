--#EVENT device datapoint
-- Each number that a counting device writes, behind those that came before it.
if data.alias ~= "count" then
  return
end

Keystore.command{key = "devices", command = "sadd", args = {data.device_sn}}
Keystore.command{key = "numbers:" .. data.device_sn, command = "rpush", args = {data.value[2]}}
