--#ENDPOINT WEBSOCKET /talk/{room}
local rooms, room = require("rooms"), websocketInfo.parameters.room
if websocketInfo.type == "open" then
  rooms.enter(room, websocketInfo.socket_id)
  websocketInfo.send({welcome = room})
elseif websocketInfo.type == "data" then
  local heard = from_json(websocketInfo.message)
  if type(heard) ~= "table" then
    response.message = {error = "expected JSON"}
    return
  end
  rooms.say(room, {from = heard.from, text = heard.text, at = websocketInfo.timestamp})
else
  rooms.leave(room, websocketInfo.socket_id)
end
