--#EVENT device datapoint
-- A station has measured. Everybody hears of frost, and nobody waits for them.
local temperature = tonumber(data.value[2])
Keystore.set{key = "last:" .. data.device_sn, value = temperature}
if temperature < 0 then
  Interface.trigger{event = "frost", data = {station = data.device_sn, temperature = temperature}}
end
