if data.alias == "temperature" then
  local is_hot = tonumber(data.value[2]) > 26
  Keystore.set{key = "fan:" .. data.device_sn, value = is_hot and "fast" or "slow"}
end
