--#ENDPOINT PUT /people/{number}
local added = Keystore.command{key = "people", command = "sadd", args = {request.parameters.number}}
return {added = added.value == 1}

--#ENDPOINT GET /people
return Keystore.command{key = "people", command = "smembers"}.value
