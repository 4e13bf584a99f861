-- The lab and the solution under test, as tables of functions that wait for their results.
local bridge, place = Labkit, labkit_place
labkit_place = nil

-- Raise the error of a call at the line of the test that made it.
local function ask(operation, arguments)
  local answer = bridge[operation](arguments)
  if answer.problem then error(place() .. ": " .. answer.problem, 0) end
  return answer.value
end

local function options(path, given)
  local all = { path = path }
  for key, value in pairs(given or {}) do all[key] = value end
  return all
end

solution = {}

function solution.request(method, path, given)
  local all = options(path, given)
  all.method = method
  return ask("request", all)
end

for _, method in ipairs({ "get", "post", "put", "delete", "patch" }) do
  solution[method] = function(path, given)
    local all = options(path, given)
    all.method = method:upper()
    return ask("request", all)
  end
end

function solution.logs() return ask("logs") end

-- A websocket to a path: `socket:send(text)`, `socket:receive()`, `socket:close()`.
function solution.websocket(path)
  local socket = { number = ask("open", { path = path }) }
  function socket.send(_, message) return ask("send", { number = socket.number, message = message }) end
  function socket.receive(_) return ask("receive", { number = socket.number }) end
  function socket.close(_) return ask("close", { number = socket.number }) end
  return socket
end

lab = {}

function lab.advance(time)
  return ask("advance", type(time) == "table" and time or { seconds = time })
end

function lab.now() return ask("now") end
function lab.settle() return ask("settle") end
function lab.restart() return ask("restart") end
function lab.mails() return ask("mails") end
function lab.journal(kind) return ask("journal", { kind = kind }) end
function lab.stub(service, operations) return ask("stub", { service = service, operations = operations }) end
function lab.calls(service) return ask("calls", { service = service }) end

function lab.fault(where, given)
  local name = ask("fault", { where = where, settings = given or {} })
  return { remove = function() return ask("remove_fault", { name = name }) end }
end

function lab.device(identity, product)
  local key = { identity = identity, product = product }
  ask("device", key)
  local device = { identity = identity }
  local function own(arguments)
    arguments.identity, arguments.product = identity, product
    return arguments
  end
  -- `device.write{…}` and `device:write{…}`
  local function method(operation, pack)
    return function(first, ...)
      if first == device then return ask(operation, own(pack(...))) end
      return ask(operation, own(pack(first, ...)))
    end
  end
  device.write = method("write", function(values) return { values = values } end)
  device.read = method("read", function(...) return { aliases = { ... } } end)
  return device
end
