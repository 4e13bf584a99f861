-- What a script finds besides Lua itself: services, print and log, JSON, bench.
local codec, request, write_log, now, most_log = ...

local find, format, sub, upper, concat = string.find, string.format, string.sub, string.upper, table.concat
local getmetatable, setmetatable = debug.getmetatable, setmetatable
local error, select, tostring, type = error, select, tostring, type

local LEVELS = { "debug", "info", "notice", "warn", "warning", "error", "critical", "alert", "emergency" }

-- Operations that take a text as their only argument, too, with its name.
local TEXTS = { Timeseries = { query = "q", command = "q", write = "query" } }

local services = {}

-- Services by name: any capitalised name is one, whether the platform knows it or not.
local function operation(service, name)
  return function(arguments)
    local kind = type(arguments)
    if kind == "string" and TEXTS[service] and TEXTS[service][name] then
      arguments, kind = { [TEXTS[service][name]] = arguments }, "table"
    end
    if kind ~= "table" and kind ~= "nil" then
      error("arguments must be a table with names: " .. service .. "." .. name .. "{name = value}", 2)
    end
    local text, problem = "{}", nil
    if arguments then
      text, problem = codec.encode(arguments, true)
      if not text then error(problem .. " for " .. service .. "." .. name, 2) end
    end
    local ok, result = request(service, name, text)
    if not ok then error(result, 2) end
    return codec.receive(result)
  end
end

local function service(name)
  return setmetatable({}, {
    __index = function(proxy, key)
      if type(key) ~= "string" then return nil end
      local call = operation(name, key)
      proxy[key] = call
      return call
    end,
  })
end

-- A table that makes a service for each capitalised name it is asked for, and asks `otherwise(name)` for all
-- others.
function services.names(otherwise)
  return setmetatable({}, {
    __index = function(known, name)
      if type(name) ~= "string" or not find(name, "^%u") then return otherwise(name) end
      local proxy = service(name)
      known[name] = proxy
      return proxy
    end,
  })
end

-- The same services by name or alias in any case of the first letter, whatever scripts have put into the globals.
local function by_alias()
  return setmetatable({}, {
    __index = function(known, name)
      if type(name) ~= "string" or not find(name, "^%a") then return nil end
      local proxy = service(upper(sub(name, 1, 1)) .. sub(name, 2))
      known[name] = proxy
      return proxy
    end,
  })
end

-- Call an operation whose service and name are texts, such as those of a request.
local function service_call(name, key, arguments)
  if type(name) ~= "string" or not find(name, "^%a") or type(key) ~= "string" then
    error("expected the names of a service and an operation", 2)
  end
  return operation(upper(sub(name, 1, 1)) .. sub(name, 2), key)(arguments)
end

local function shown(value)
  if type(value) == "table" then
    local meta = getmetatable(value)
    local text = not (meta and meta.__tostring) and codec.encode(value, true)
    if text then return text end
  end
  local text = tostring(value)
  return type(text) == "string" and text or error("'tostring' must return a string to 'print'", 0)
end

local function logger(level)
  return function(...)
    local parts, n = {}, select("#", ...)
    for i = 1, n do parts[i] = shown((select(i, ...))) end
    local text = concat(parts, "\t")
    if #text > most_log then text = sub(text, 1, most_log) .. "…" end
    write_log(level, text)
  end
end

local function parse(text)
  return codec.parse(text)
end

local function stringify(value)
  return codec.encode(value)
end

local function measured(began, ...)
  local results, n = { ... }, select("#", ...)
  results[n + 1] = format("%.6f", now() - began)
  return unpack(results, 1, n + 1)
end

function services.install(env)
  env.print = logger("print")
  env.log = {}
  for _, level in ipairs(LEVELS) do env.log[level] = logger(level) end
  env.murano = { services = by_alias(), service_call = service_call }
  env.to_json, env.from_json = stringify, parse
  env.json = { parse = parse, stringify = stringify }
  env.bench = {
    measure = function(f, ...)
      return measured(now(), f(...))
    end,
  }
end

return services
