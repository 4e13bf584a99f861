--#ENDPOINT GET /history/{sn}
-- The temperatures of a house: ?since=-1d, and with ?every=1h the average of each hour.
return Tsdb.query{
  metrics = {"temperature"},
  tags = {sn = request.parameters.sn},
  relative_start = request.parameters.since or "-1d",
  sampling_size = request.parameters.every,
  epoch = "s",
}

--#ENDPOINT GET /range
-- The coldest and the warmest value of all houses on each day of a month.
return Tsdb.query{
  metrics = {"temperature"},
  relative_start = "-31d",
  sampling_size = "1d",
  aggregate = {"min", "avg", "max"},
  epoch = "s",
}

--#ENDPOINT GET /now
-- The newest value of each house.
return Tsdb.recent{metrics = {"temperature"}, epoch = "s"}
