--#EVENT interface now
-- The operation `now` of those who subscribe.
local last = Keystore.get{key = "last:" .. order.station}.value
if not last then
  return {error = "no station " .. order.station, status = 404, type = "QueryError"}
end
local temperature = tonumber(last)
if order.unit == "fahrenheit" then
  temperature = temperature * 9 / 5 + 32
end
return {station = order.station, temperature = temperature, unit = order.unit}

--#EVENT interface subscriberAdded
print(subscription.solution_id .. " is near to the station " .. subscription.parameters.station)
