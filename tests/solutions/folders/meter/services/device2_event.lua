-- parameter: event
local function write(identity, points)
  local datapoints = {}
  for _, point in ipairs(points) do
    local metrics = {}
    for alias, value in pairs(point.values) do
      metrics[alias] = alias == "report" and value or tonumber(value)
    end
    if next(metrics) then
      datapoints[#datapoints + 1] = {metrics = metrics, tags = {sn = identity}, ts = string.format("%.0fu", point.timestamp)}
    end
  end
  return Tsdb.multiWrite({datapoints = datapoints})
end

if event.type == "data_in" then
  local written = write(event.identity, event.payload)
  if written and written.error then print("not written: " .. written.error) end
elseif event.type == "connect" or event.type == "disconnect" then
  Keystore.command({key = event.type, command = "incr"})
end
