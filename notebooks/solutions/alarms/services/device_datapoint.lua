--#EVENT device datapoint
-- A sensor writes how wet it is, from 0 to 10: everybody who is bound as family learns of it.
if data.alias ~= "water" or tonumber(data.value[2]) < 3 then
  return
end

local sent = Notify.send{
  Tag = {"family"},
  Title = "Water in the cellar",
  Body = "The sensor below the boiler says " .. data.value[2] .. ".",
  Sound = "alarm",
  Action = "OPEN_VALVE",
  Data = {sensor = data.device_sn or data.identity, level = tonumber(data.value[2])},
  Fcm = {collapse_key = "cellar"},
}
if sent.error then
  print("nobody was told: " .. sent.error)
end
