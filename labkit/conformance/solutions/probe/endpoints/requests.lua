--#ENDPOINT GET /requests/{name}
return request

--#ENDPOINT POST /requests/{name}
return request

--#ENDPOINT POST /requests/form/{name} application/x-www-form-urlencoded
return {kind = type(request.body), body = request.body}

--#ENDPOINT POST /requests/json/{name} application/json
Keystore.set{key = request.parameters.name, value = "the script has run"}
return {kind = type(request.body), body = request.body}

--#ENDPOINT POST /requests/text/{name} text/plain
return {kind = type(request.body), body = request.body}
