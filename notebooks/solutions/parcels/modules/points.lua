function write_point(name, sn, value)
  return Timeseries.write{query = string.format("%s,identifier=%s value=%s", name, sn, value)}
end

function query_points(text)
  local answer = Timeseries.query{q = text, epoch = "s"}
  if answer.error then return nil, answer.error end
  local series = answer.results[1].series
  return series and series[1].values or {}
end
