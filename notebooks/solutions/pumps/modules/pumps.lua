local pumps = {}

function pumps.seen(sn, pressure)
  Keystore.command{key = "pressure", command = "hset", args = {sn, pressure}}
end

function pumps.all()
  local found = {}
  for sn, pressure in pairs(Keystore.command{key = "pressure", command = "hgetall"}.value) do
    found[#found + 1] = {sn = sn, pressure = tonumber(pressure)}
  end
  table.sort(found, function(a, b) return a.sn < b.sn end)
  return found
end

function pumps.queue(sn, job)
  Keystore.command{key = "jobs:" .. sn, command = "rpush", args = {to_json(job)}}
end

-- The next job of a pump moves to the list of those that are done.
function pumps.next(sn)
  return Keystore.command{key = "jobs:" .. sn, command = "rpoplpush", args = {"done:" .. sn}}.value
end

return pumps
