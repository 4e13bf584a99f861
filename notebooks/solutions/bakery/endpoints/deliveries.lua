--#ENDPOINT POST /deliveries
-- By bicycle, unless it is too cold; and where nobody tells, by van.
local weather = Weather.now()
if weather.error then
  return {by = "van", why = weather.error}
end
return {by = weather.temperature >= 5 and "bicycle" or "van", temperature = weather.temperature}
