--#ENDPOINT GET /rooms/{room}
return require("rooms").lines(request.parameters.room)
