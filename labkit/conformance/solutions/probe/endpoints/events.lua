--#ENDPOINT GET /events/{identity}
-- What a device of this identity caused: [{handler, event}, …], where handler is datapoint or event.
return require("told").all(request.parameters.identity)
