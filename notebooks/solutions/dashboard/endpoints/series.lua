--#ENDPOINT GET /devices/{sn}/series
local found = Tsdb.query{
  metrics = {request.parameters.alias or "temperature"},
  tags = {sn = request.parameters.sn},
  relative_start = "-" .. (request.parameters.hours or "24") .. "h",
  epoch = "s",
  limit = 1000,
}
if found.error then
  response.code = found.status
  return found
end
return {columns = found.columns, values = found.values}

--#ENDPOINT GET /devices/{sn}/average
local found = Tsdb.query{
  metrics = {"temperature"}, tags = {sn = request.parameters.sn}, relative_start = "-1d",
  aggregate = {"avg"}, sampling_size = "1h", epoch = "s", fill = "none",
}
return found

--#ENDPOINT GET /metrics
return Tsdb.listMetrics()
