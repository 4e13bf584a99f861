What stands before the first header is ignored, so this need not be Lua.

--#ENDPOINT GET /routes
return "all of them"
--#ENDPOINT put /routes
return "in lower case"
--#ENDPOINT GET /routes/{name}
return {placeholder = request.parameters.name}
--#ENDPOINT GET /routes/exact
return {exact = true}
--#ENDPOINT GET /routes/{name}/of/{other}
return request.parameters
