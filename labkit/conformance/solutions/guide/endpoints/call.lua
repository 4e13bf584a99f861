--#ENDPOINT POST /call/{service}/{operation}
-- Calls an operation of a service with the body as its parameters: {kind, result}, what came and of which type.
local service = _G[request.parameters.service]
local result = service[request.parameters.operation](request.body)
return {kind = type(result), result = result}
