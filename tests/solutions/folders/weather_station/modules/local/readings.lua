local readings = {}

function readings.add(identity, point)
  local metrics = {}
  for alias, value in pairs(point.values) do
    metrics[alias] = tonumber(value)
  end
  if next(metrics) ~= nil then
    Tsdb.write({metrics = metrics, tags = {station = identity}, ts = point.timestamp})
  end
end

function readings.mean(identity, metric)
  local found = Tsdb.query({
    metrics = {metric},
    tags = {station = identity},
    relative_start = "-1d",
    sampling_size = "1d",
    aggregate = {"avg", "count"},
  })
  return found.error and {} or found.values
end

return readings
