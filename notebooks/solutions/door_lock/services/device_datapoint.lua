local message = to_json({state = data.value[2]})
Keystore.set{key = "state", value = data.value[2]}
for _, known in ipairs(Keystore.command{key = "listeners", command = "smembers"}.value) do
  local socket_id, server_ip = known:match("^(.-)@(.*)$")
  Websocket.send{socket_id = socket_id, server_ip = server_ip, message = message, type = "data-text"}
end
