--#ENDPOINT PUT /vents
-- Opens the vents from 15 °C on. The weather is another solution's: it is called like any service.
local weather = Weather.now()
if weather.error then
  response.code = weather.status
  return {message = weather.error}
end
local vents = weather.temperature >= 15 and "open" or "closed"
Keystore.set{key = "vents", value = vents}
return {vents = vents, temperature = weather.temperature}
