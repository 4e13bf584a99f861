for _, point in ipairs(event.payload or {}) do
  local flow = tonumber(point.values.flow)
  if flow then
    Keystore.command({key = "litres." .. event.identity, command = "incrbyfloat", args = {flow * 10}})
    if flow > 90 then
      Interface.trigger({event = "flooded", data = {sn = event.identity, flow = flow}})
    end
  end
end
