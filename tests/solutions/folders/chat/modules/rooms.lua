local rooms = {}

local function sockets(room)
  return Keystore.command({key = "sockets." .. room, command = "smembers"}).value or {}
end

function rooms.enter(room, socket)
  Keystore.command({key = "sockets." .. room, command = "sadd", args = {socket}})
end

function rooms.leave(room, socket)
  Keystore.command({key = "sockets." .. room, command = "srem", args = {socket}})
end

function rooms.say(room, line)
  Keystore.command({key = "said." .. room, command = "rpush", args = {to_json(line)}})
  Keystore.command({key = "said." .. room, command = "ltrim", args = {-50, -1}})
  Keystore.command({key = "said." .. room, command = "expire", args = {86400}})
  for _, socket in ipairs(sockets(room)) do
    local sent = Websocket.send({socket_id = socket, message = to_json(line), type = "data-text"})
    if sent and sent.error then rooms.leave(room, socket) end
  end
end

function rooms.lines(room)
  local kept = Keystore.command({key = "said." .. room, command = "lrange", args = {0, -1}}).value
  local lines = {}
  for index, line in ipairs(kept) do
    lines[index] = from_json(line)
  end
  return lines
end

return rooms
