--#EVENT device2 data_in
for _, point in ipairs(event.payload) do
  if point.values.level then
    Keystore.set({key = "level." .. event.identity, value = tonumber(point.values.level)})
  end
end
