-- The globals that scripts see: one table in each environment, apart from the globals of the host.
local names_of, libraries, budget, sort, built_in = ...

-- Scripts may change the methods of texts, so none is used here.
local byte, gsub, match = string.byte, string.gsub, string.match
local load, select, setmetatable, tostring, type = load, select, setmetatable, tostring, type
local pcall = budget.pcall
local getinfo, native_getfenv, native_setfenv = debug.getinfo, getfenv, setfenv
local next, native_pairs, rawget, error, concat = next, pairs, rawget, error, table.concat

local LONGEST_SOURCE = 2 * 1024 * 1024

local KEPT = {
  "_VERSION", "assert", "error", "getmetatable", "ipairs", "next", "pairs", "rawequal", "rawget", "rawset",
  "select", "tonumber", "tostring", "type", "unpack",
}
local STRING = { "byte", "char", "len", "sub" }
local TABLE = { "foreach", "foreachi", "getn", "maxn", "move", "remove" }

local function copy(source, names)
  local t = {}
  for _, name in ipairs(names) do t[name] = source[name] end
  return t
end

local function all(source, ...)
  local t = {}
  for _, library in ipairs({ source, ... }) do
    for name, value in native_pairs(library) do t[name] = value end
  end
  return t
end

local sandbox = {}

-- Loading text; never bytecode.
local function compile(env, source, name, scope)
  if byte(source, 1) == 27 then return nil, "attempt to load bytecode" end
  if #source > LONGEST_SOURCE then return nil, "the source is too long" end
  budget.charge(50 * #source)
  return load(source, name, "t", scope or env)
end

local function gather(reader)
  local pieces, n, bytes = {}, 0, 0
  repeat
    local piece = reader()
    if type(piece) == "string" then
      n, bytes = n + 1, bytes + #piece
      pieces[n] = piece
    elseif piece ~= nil then
      error("reader function must return a string", 0)
    end
  until piece == nil or piece == "" or bytes > LONGEST_SOURCE
  return concat(pieces)
end

local function install_load(env)
  function env.load(source, name, _, scope)
    if type(source) == "function" then source, name = gather(source), name or "=(load)" end
    if type(source) ~= "string" then error("bad argument #1 to 'load' (function expected)", 2) end
    return compile(env, source, name, scope)
  end
  function env.loadstring(source, name)
    if type(source) ~= "string" then error("bad argument #1 to 'loadstring' (string expected)", 2) end
    return compile(env, source, name)
  end
end

-- xpcall calls the handler once the error is over: one that is called while the hook raises would run unseen.
local function install_protection(env)
  env.pcall = pcall
  local function handle(handler, ok, ...)
    if ok then return true, ... end
    return false, select(2, pcall(handler, ...))
  end
  function env.xpcall(f, handler, ...)
    return handle(handler, pcall(f, ...))
  end
  function env.collectgarbage(option)
    if option == "count" then return collectgarbage("count") end
    return 0
  end
end

local function keys_in_order(t)
  local numbers, texts, others = {}, {}, {}
  for key in next, t do
    local kind = type(key)
    local list = kind == "number" and numbers or kind == "string" and texts or others
    list[#list + 1] = key
  end
  sort(numbers)
  sort(texts)
  for _, list in ipairs({ texts, others }) do
    for i = 1, #list do numbers[#numbers + 1] = list[i] end
  end
  return numbers
end

-- pairs in the order of the keys: LuaJIT's own order differs from process to process, and a seed must replay.
local function install_ordered_pairs(env)
  function env.pairs(t)
    if type(t) ~= "table" then return native_pairs(t) end -- complains
    local first = next(t)
    if first == nil or next(t, first) == nil then return next, t, nil end
    local keys, i = keys_in_order(t), 0
    return function()
      while true do
        i = i + 1
        local key = keys[i]
        if key == nil then return nil end
        local value = rawget(t, key)
        if value ~= nil then return key, value end
      end
    end, t, nil
  end
end

-- Modules: each runs once; what it returns, or the global of its name, is what require gives. A solution's own module
-- goes before a built-in one of the same name.
local function install_require(env)
  local sources, loaded, loading = {}, {}, {}
  function env.require(name)
    name = type(name) == "string" and gsub(name, "/", ".") or tostring(name)
    if loaded[name] ~= nil then return loaded[name] end
    if not sources[name] and built_in[name] then
      local own = {}
      for key, value in next, built_in[name] do own[key] = value end -- scripts may change it
      loaded[name] = own
      return own
    end
    if not sources[name] then error("module '" .. name .. "' not found", 2) end
    if loading[name] then error("modules require one another in a loop: '" .. name .. "'", 2) end
    loading[name] = true
    local ok, value = pcall(sources[name], name)
    loading[name] = nil
    if not ok then error(value, 0) end
    if value == nil then value = rawget(env, match(name, "[^.]*$")) end
    loaded[name] = value == nil and true or value
    return loaded[name]
  end
  function sandbox.add_module(name, chunk)
    sources[name], loaded[name] = chunk, nil
  end
end

-- The global table keeps its metatable, which makes the services; a script that sets one for undeclared names
-- is asked afterwards.
local function install_setmetatable(env, meta, own)
  function env.setmetatable(t, wanted)
    if t ~= env or type(wanted) ~= "table" then return setmetatable(t, wanted) end
    own.index, meta.__newindex = rawget(wanted, "__index"), rawget(wanted, "__newindex")
    return t
  end
end

-- Functions of the host live in the host's globals, which scripts must neither see nor change.
local function install_environments(env)
  local host = native_getfenv(0)
  local function find(name, f)
    if type(f) == "function" then return f end
    local level = tonumber(f)
    if not level then
      error("bad argument #1 to '" .. name .. "' (number expected, got " .. type(f) .. ")", 3)
    end
    local info = level > 0 and getinfo(level + 2, "f")
    if not info then error("bad argument #1 to '" .. name .. "' (invalid level)", 3) end
    return info.func
  end
  function env.getfenv(f)
    if f == 0 then return env end
    local scope = native_getfenv(find("getfenv", f == nil and 1 or f))
    return scope == host and env or scope
  end
  function env.setfenv(f, scope)
    if type(scope) ~= "table" then
      error("bad argument #2 to 'setfenv' (table expected, got " .. type(scope) .. ")", 2)
    end
    local found = f ~= 0 and find("setfenv", f)
    if not found or native_getfenv(found) == host then
      error("'setfenv' cannot change environment of given object", 2)
    end
    return native_setfenv(found, scope)
  end
end

function sandbox.make(seeded)
  local env, own = copy(_G, KEPT), {}
  local function otherwise(name)
    local index = own.index
    if type(index) == "function" then return index(env, name) end
    if type(index) == "table" then return index[name] end
  end
  local meta = { __index = names_of(otherwise) }
  env._G = env
  env.math, env.bit, env.os = all(math, libraries.random), all(bit), libraries.os
  env.string = all(copy(string, STRING), libraries.text, libraries.pattern)
  env.table = all(copy(table, TABLE), libraries.table)
  env.coroutine = libraries.coroutine
  install_load(env)
  install_environments(env)
  install_protection(env)
  install_require(env)
  install_setmetatable(env, meta, own)
  if seeded then install_ordered_pairs(env) end
  -- Texts have the methods that scripts see and may add to; the metatable itself is out of reach.
  debug.setmetatable("", { __index = env.string, __metatable = { __index = env.string } })
  return setmetatable(env, meta)
end

return sandbox
