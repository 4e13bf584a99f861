if event.type ~= "data_in" then return end
for _, point in ipairs(event.payload) do
  local metrics = {}
  for alias, value in pairs(point.values) do metrics[alias] = tonumber(value) or value end
  if next(metrics) then
    Tsdb.write{metrics = metrics, tags = {sn = event.identity}, ts = string.format("%du", point.timestamp)}
  end
end
