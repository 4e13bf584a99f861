if event.type == "data_in" then
  for _, point in ipairs(event.payload) do
    for alias, value in pairs(point.values) do write_point(alias, event.identity, value) end
  end
end
