--#ENDPOINT GET /rooms/{room}/people
return {count = #Websocket.list(), speakers = User.listRoles()[1].role_id}

--#ENDPOINT DELETE /rooms/{room}/people
return {closed = Websocket.closeAll()}
