--#ENDPOINT POST /call/{service}/{operation}
-- Calls an operation of a service with the body as its parameters: {kind, result}, what came and of which type.
local service = _G[request.parameters.service]
local result = service[request.parameters.operation](request.body)
return {kind = type(result), result = result}

--#ENDPOINT PUT /notes/{key} text/plain
local outcome = Keystore.set{key = request.parameters.key, value = request.body}
return {failed = outcome.status ~= nil}

--#ENDPOINT GET /notes/{key}
return {note = Keystore.get{key = request.parameters.key}.value}

--#ENDPOINT DELETE /notes/{key}
return {kind = type(Keystore.delete{key = request.parameters.key})}

--#ENDPOINT POST /count/{key}
-- Adds 1 to a key, so many times as the body says: what it was after each.
local sums = {}
for turn = 1, request.body.times do
  sums[turn] = Keystore.command{key = request.parameters.key, command = "incrby", args = {1}}.value
end
return sums
