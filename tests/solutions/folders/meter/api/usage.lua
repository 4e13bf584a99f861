--#ENDPOINT GET /meters/{sn}/usage
local out = Tsdb.query({
  metrics = {"power", "energy"},
  tags = {sn = request.parameters.sn},
  relative_start = "-2d",
  sampling_size = "1h",
  aggregate = {"count", "max"},
  fill = "none",
  epoch = "s",
  limit = 100,
})
if out.error then
  response.code = out.status
  return out
end
return {columns = out.columns, values = out.values}

--#ENDPOINT GET /meters/{sn}/points
local out = Tsdb.query({metrics = {"power"}, tags = {sn = request.parameters.sn}, relative_start = "-7d", limit = 1000})
return {count = #out.values}

--#ENDPOINT GET /meters
local last = Tsdb.recent({metrics = {"energy"}, tag_name = "sn", tag_values = {"s1", "s2"}})
return {metrics = Tsdb.listMetrics({limit = 10}).metrics, last = last.values, quota = Keystore.info().quota.keys}
