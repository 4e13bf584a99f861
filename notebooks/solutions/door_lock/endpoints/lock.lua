--#ENDPOINT WEBSOCKET /listen
local socket = websocketInfo
local known = tostring(socket.socket_id) .. "@" .. tostring(socket.server_ip)
if socket.type == "open" then
  Keystore.command{key = "listeners", command = "sadd", args = {known}}
  response.message = to_json({state = Keystore.get{key = "state"}.value or "locked"})
elseif socket.type == "close" then
  Keystore.command{key = "listeners", command = "srem", args = {known}}
end

--#ENDPOINT PUT /lock
local state = request.body.state
if state ~= "locked" and state ~= "open" then
  response.code = 400
  return {error = "state: expected locked or open"}
end
local sent = Device2.setIdentityState{pid = Config.solution().products[1], identity = "lock-1", state = state}
if sent.error then
  response.code = sent.status
  return sent
end
return {state = state}
