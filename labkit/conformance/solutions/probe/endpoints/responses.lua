--#ENDPOINT POST /responses
-- Does what the body says: sets fields of response, and headers, and returns something.
for name, value in pairs(request.body.set or {}) do
  response[name] = value
end
for name, value in pairs(request.body.headers or {}) do
  response.headers[name] = value
end
return request.body.give

--#ENDPOINT POST /responses/anew
response = request.body

--#ENDPOINT GET /responses/headers
return {kind = type(response.headers), first = next(response.headers)}

--#ENDPOINT GET /responses/nothing
local nothing = nil

--#ENDPOINT GET /responses/error
local refused = Keystore.command{key = "any", command = "nonsense"}
response.code = 418
return refused

--#ENDPOINT GET /json/tables
local served = Keystore.command{key = "that is not there", command = "lrange", args = {0, -1}}
return {
  items = {"a", "b", "c"},
  named = {a = 1},
  mixed = {"a", x = "b"},
  late = {[2] = "b"},
  empty = {},
  parsed = from_json("[]"),
  parsed_object = from_json("{}"),
  served = served.value,
  within = {{}, {"a"}, from_json('{"list": []}')},
}

--#ENDPOINT POST /json/read text/plain
-- What both readers make of a text.
local value, problem = from_json(request.body)
local other, other_problem = json.parse(request.body)
return {value = value, problem = problem, other = other, other_problem = other_problem}

--#ENDPOINT POST /json/write
-- What both writers make of the body, and of a function, which has no form in JSON.
local text, problem = to_json(request.body)
local other, other_problem = json.stringify(request.body)
local none, reason = to_json({f = print})
return {
  text = text, problem = problem, other = other, other_problem = other_problem,
  none = none, reason = type(reason),
}
