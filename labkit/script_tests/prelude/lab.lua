-- The lab and the solution under test, as tables of functions that wait for their results.
local bridge, parts = Labkit, labkit_parts
labkit_parts = nil
local place, fail, shown = parts.place, parts.fail, parts.shown

-- Raise an error at the test's line for a value that cannot leave this Lua state, such as a function.
local function expect_data(word, value, seen)
  local kind = type(value)
  if kind == "function" or kind == "thread" or kind == "userdata" then
    fail(word .. ": expected a value such as a text, a number or a table, not a " .. kind)
  end
  if kind ~= "table" or seen[value] then return end
  seen[value] = true
  for key, each in pairs(value) do expect_data(word .. "." .. tostring(key), each, seen) end
  seen[value] = nil
end

-- Make a call, and raise its error at the line of the test that made it.
local function ask(operation, arguments)
  local where = place()
  local answer = bridge[operation]({ place = where, arguments = arguments })
  if answer.problem then fail(answer.problem) end
  return answer.value
end

local function expect(word, kinds, value, example)
  if not (" " .. kinds .. " "):find(" " .. type(value) .. " ", 1, true) then
    fail(word .. ": expected a " .. kinds:gsub("string", "text"):gsub(" ", " or a ") .. ", not " .. shown(value) .. ": " .. example)
  end
end

-- A table of functions whose errors name the right call: one with a colon, and one of a word that is not there.
local function namespace(name, functions)
  local made = {}
  for word, f in pairs(functions) do
    made[word] = function(...)
      if rawequal((...), made) then
        fail(name .. ":" .. word .. ": expected a dot instead of the colon: " .. name .. "." .. word .. "(…)")
      end
      return f(...)
    end
  end
  return setmetatable(made, {
    __index = function(_, word) fail(name .. " has no function '" .. tostring(word) .. "'" .. parts.similar(word, functions)) end,
  })
end

-- A table of functions that are called with a colon or a dot alike.
local function handle(name, fields, functions)
  local made = fields
  for word, f in pairs(functions) do
    made[word] = function(first, ...)
      if rawequal(first, made) then return f(...) end
      return f(first, ...)
    end
  end
  return setmetatable(made, {
    __index = function(_, word) fail(name .. " has no function '" .. tostring(word) .. "'" .. parts.similar(word, made)) end,
  })
end

-- The arguments of a request: path and options, which Python checks by name.
local function options(word, path, given, method)
  local example = word .. "('/path', {headers = {…}, query = {…}})"
  expect(word .. ": path", "string", path, example)
  if given ~= nil then expect(word .. ": options", "table", given, example) end
  expect_data(word, given, {})
  return { path = path, options = given or {}, method = method }
end

local ANSWER = { status = 1, headers = 1, body = 1, json = 1 }
local function header(headers, name) return rawget(headers, tostring(name):lower()) end
local function no_field(_, name)
  if not ANSWER[name] then fail("an answer has no field '" .. tostring(name) .. "'" .. parts.similar(name, ANSWER)) end
end

-- Send a request; its answer has headers by name in any letter case.
local function send(given)
  local answer = ask("request", given)
  setmetatable(answer.headers, { __index = header })
  return setmetatable(answer, { __index = no_field })
end

local requests = {
  request = function(method, path, given)
    expect("solution.request: method", "string", method, "solution.request('GET', '/path')")
    return send(options("solution.request", path, given, method:upper()))
  end,
  logs = function() return ask("logs") end,
}
for _, method in ipairs({ "get", "post", "put", "delete", "patch" }) do
  requests[method] = function(path, given)
    return send(options("solution." .. method, path, given, method:upper()))
  end
end

-- A websocket to a path: `socket:send(value)`, `socket:receive()`, `socket:messages()`, `socket:close()`.
function requests.websocket(path, given)
  local opened = ask("open", options("solution.websocket", path, given))
  local number = opened.number
  return handle("the websocket", { subprotocol = opened.subprotocol }, {
    send = function(message)
      expect_data("send", message, {})
      if message == nil then fail("send: expected a message: socket:send('text')") end
      return ask("send", { number = number, message = message })
    end,
    receive = function() return ask("receive", { number = number }) end,
    messages = function() return ask("messages", { number = number }) end,
    close = function(code) return ask("close", { number = number, code = code }) end,
  })
end
solution = namespace("solution", requests)

local labs = {}

function labs.advance(time)
  expect("lab.advance", "number table", time, "lab.advance(60), lab.advance{hours = 1}")
  expect_data("lab.advance", time, {})
  return ask("advance", type(time) == "table" and time or { seconds = time })
end

for _, word in ipairs({ "now", "settle", "restart", "mails" }) do
  labs[word] = function() return ask(word) end
end

function labs.journal(kind)
  if kind ~= nil then expect("lab.journal: kind", "string", kind, "lab.journal('event')") end
  return ask("journal", { kind = kind })
end

function labs.stub(service, operations)
  local example = "lab.stub('Twilio', {postMessage = {sid = '1'}})"
  expect("lab.stub: service", "string", service, example)
  expect("lab.stub: operations", "table", operations, example)
  for operation, result in pairs(operations) do
    if type(result) == "function" then
      fail("lab.stub: " .. service .. "." .. tostring(operation) .. ": expected the result, not a function: " .. example)
    end
  end
  expect_data("lab.stub: " .. service, operations, {})
  return ask("stub", { service = service, operations = operations })
end

function labs.calls(service)
  expect("lab.calls: service", "string", service, "lab.calls('Twilio')")
  return ask("calls", { service = service })
end

function labs.fault(where, given)
  local example = "lab.fault('Keystore.set', {status = 503})"
  expect("lab.fault: where", "string", where, example)
  if given ~= nil then expect("lab.fault: settings", "table", given, example) end
  expect_data("lab.fault", given, {})
  local name = ask("fault", { where = where, settings = given or {} })
  return handle("the fault", {}, { remove = function() return ask("remove_fault", { name = name }) end })
end

function labs.device(identity, product)
  expect("lab.device: identity", "string", identity, "lab.device('t-001')")
  if product ~= nil then expect("lab.device: product", "string", product, "lab.device('t-001', 'thermostat')") end
  local function own(arguments)
    arguments.identity, arguments.product = identity, product
    return arguments
  end
  ask("device", own({}))
  return handle("the device", { identity = identity }, {
    write = function(values)
      expect("device:write", "table", values, "device:write{temperature = 21.5}")
      expect_data("device:write", values, {})
      return ask("write", own({ values = values }))
    end,
    read = function(...)
      for i = 1, select("#", ...) do
        expect("device:read", "string", (select(i, ...)), "device:read('temperature')")
      end
      return ask("read", own({ aliases = { ... } }))
    end,
  })
end
lab = namespace("lab", labs)

-- The name by which these tables make their calls is not for tests.
local words = {}
for word in pairs(labs) do words["lab." .. word] = true end
for word in pairs(requests) do words["solution." .. word] = true end
Labkit = setmetatable({}, {
  __index = function(_, word)
    fail("Labkit has no function '" .. tostring(word) .. "'" .. parts.similar("lab." .. tostring(word), words))
  end,
})

-- Services that the test's code names, as the solution's scripts see them; errors and warnings have the test's line.
function labkit_service(name)
  local service = {}
  local function operation(_, key)
    if type(key) ~= "string" then return nil end
    local word = name .. "." .. key
    local function call(arguments)
      if rawequal(arguments, service) then fail(name .. ":" .. key .. ": expected a dot instead of the colon: " .. word .. "{…}") end
      if arguments ~= nil and type(arguments) ~= "table" and type(arguments) ~= "string" then
        fail(word .. ": arguments must be a table, not " .. shown(arguments))
      end
      expect_data(word, arguments, {})
      return ask("call", { service = name, operation = key, given = arguments })
    end
    rawset(service, key, call)
    return call
  end
  rawset(_G, name, setmetatable(service, { __index = operation }))
end
