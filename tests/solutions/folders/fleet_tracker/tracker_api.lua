--#ENDPOINT GET /_init
note("ready")

--#ENDPOINT GET /trackers
local sns, list = Keystore.command({key = "trackers", command = "smembers"}), {}
for _, sn in ipairs(sns.value) do
  local tracker = kv_read(sn)
  tracker.sn = sn
  tracker.fast = tonumber(Keystore.get({key = "fast." .. sn}).value) or 0
  table.insert(list, tracker)
end
return list

--#ENDPOINT GET /trackers/{sn}/speed
local sn = tostring(request.parameters.sn)
local out = Timeseries.query("select count(value), max(value) from speed where sn = '" .. sn .. "'")
if out.results[1].series == nil then
  response.code = 404
  return {error = "no tracker " .. sn}
end
local row = out.results[1].series[1].values[1]
return {count = row[2], most = row[3]}

--#ENDPOINT POST /trackers/{sn}/door
local ret = Device.write({
  pid = product_id(),
  device_sn = request.parameters.sn,
  ["door"] = request.body.state,
})
return ret

--#ENDPOINT GET /trackers/{sn}/door
local found = Device.list({pid = product_id()})
for _, each in ipairs(found) do
  if each.sn == request.parameters.sn then
    local back = Device.rpcCall({
      pid = product_id(),
      auth = {client_id = each.rid},
      calls = {{id = 1, procedure = "read", arguments = {{alias = "door"}, {limit = 1}}}},
    })
    return back[1]
  end
end
response.code = 404

--#ENDPOINT GET /notes
return Keystore.command({key = "notes", command = "lrange", args = {0, -1}}).value
