-- Puts the parts together, and drives scripts: a run is a coroutine that yields for a service call that has to wait.
--
-- To Python only numbers, texts and nil are given back: anything else needs memory outside of a protected
-- call.
local part, set_limit, thread_cpu, pause, now, write_log, random_bytes, call, environment, settings = ...

jit.off()
local create, resume, status = coroutine.create, coroutine.resume, coroutine.status
local debug_getmetatable, traceback, collect = debug.getmetatable, debug.traceback, collectgarbage
local error, load, rawget, rawset = error, load, rawget, rawset
local dump, gmatch, select, tostring, type = string.dump, string.gmatch, select, tostring, type

local most_bytes = settings.base_bytes + settings.memory_bytes
local budget = part("budget")(
  set_limit, thread_cpu, part("ticks")(), pause, settings.cpu_seconds, settings.cpu_setting, most_bytes, settings.call_bytes)
local tables = part("tables")(budget)
local matcher = part("matcher")(settings.pattern_steps, budget.stop, part("cost")())
local patterns, forget_text = part("patterns")(matcher, budget, tables.concat)
local codec = part("codec")(tables.sort, tables.concat, budget, settings.depth, settings.value_bytes)
local coroutines, request = part("coroutines")(budget, settings.coroutines, call)
local clock = part("clock")(now, environment, settings.began)
local random = part("random")(random_bytes, budget)
local services = part("services")(codec, request, write_log, now, settings.log_bytes)

local table_library = { concat = tables.concat, insert = tables.insert, sort = tables.sort }
local libraries = { text = tables.texts, pattern = patterns, table = table_library, coroutine = coroutines, os = clock, random = random.library }
local built_in = { ["staging.mcrypto"] = part("mcrypto")(random.bytes, budget.charge) }
local sandbox = part("sandbox")(services.names, libraries, budget, tables.sort, built_in)
local env = sandbox.make(settings.seeded)
services.install(env)

local DONE, CALL, FAILED, LIMITED = 0, 1, 2, 3
local functions, readback = {}, {} -- by number; and how many arguments are read back
local shown = {} -- by number: names of the globals that have the first argument while the function runs
local shown_now -- those of the run
local sizes = {} -- of their sources
local co -- the run: at most one
local seeded = settings.seeded
local driver = {}
local MEMORY = "memory limit: at most " .. settings.memory_bytes / 2 ^ 20 .. " MiB"

local function encoded(value)
  if value == nil then return nil end
  local text, problem = codec.encode(value, true)
  return text or error(problem, 0)
end

local function arguments(n, text, ...)
  if n == 0 then return end
  if n == 1 then return codec.receive(text) end
  return codec.receive(text), arguments(n - 1, ...)
end

-- The value, then what the next `more` became, as JSON; nil stays nil.
local function results(more, value, ...)
  if more == 0 then return encoded(value) end
  return encoded(value), results(more - 1, ...)
end

-- What is read back was assigned to by the run, so it is there afterwards. The run is called from here, not from beside
-- its source: else an error in a tail call would name a line that is none of the script's.
local function both(more, run, read)
  return results(more, run(), read())
end

local function show(value)
  for i = 1, #shown_now do rawset(env, shown_now[i], value) end
end

local function also_shown(first, ...)
  show(first)
  return first, ...
end

local function received(n, ...)
  if shown_now then return also_shown(arguments(n, ...)) end
  return arguments(n, ...)
end

local function body(f, more, n, ...)
  if more == 0 then return encoded(f(received(n, ...))) end
  return both(more, f(received(n, ...)))
end

-- Text for an error value. Its __tostring is code of the script, so it runs as a coroutine too.
local function describe(problem)
  local kind = type(problem)
  if kind == "string" or kind == "number" then return tostring(problem) end
  if kind == "table" then
    local meta = debug_getmetatable(problem)
    if meta and rawget(meta, "__tostring") then
      local ok, text = resume(create(tostring), problem)
      if ok and type(text) == "string" then return text end
    end
    local text = codec.encode(problem, true)
    if text then return text end
  end
  return "(error object is a " .. kind .. ")"
end

local function forget()
  co = nil
  if shown_now then
    show(nil)
    shown_now = nil
  end
  forget_text()
end

local function left(ok, first, ...)
  local limit, reason, where = budget.stopped()
  if ok and not limit then
    if status(co) ~= "dead" then return CALL, ... end
    forget()
    return DONE, first, ...
  end
  local ended = co
  forget()
  if type(first) == "userdata" then
    budget.lift()
    error(first, 0) -- of Python, which raises it once Lua returns
  end
  local text = not limit and describe(first)
  limit, reason, where = budget.stopped() -- describing may hit a limit too
  budget.lift()
  if limit then return LIMITED, reason, where or traceback(ended), limit end
  if first == "not enough memory" then
    return LIMITED, MEMORY, traceback(ended), "memory"
  end
  return FAILED, text, traceback(ended)
end

-- Begin a run of a function with n arguments, as codec.receive takes them. safe: memory is limited already.
function driver.start(number, safe, n, ...)
  if not safe then budget.restore() end
  co, shown_now = create(body), shown[number]
  if seeded then random.begin() end
  budget.begin()
  return left(resume(co, functions[number], readback[number], n, ...))
end

-- Go on with the run, with the answer to its service call.
function driver.answer(ok, safe, text)
  if not safe then budget.restore() end
  budget.begin()
  return left(resume(co, ok, text))
end

driver.drop = forget

-- Where the run waits for a call.
function driver.waiting()
  return co and traceback(co) or ""
end

function driver.spent()
  return budget.spent()
end

function driver.collect()
  collect()
  return collect("count") * 1024
end

-- Compile: gives the function, or nil and what is wrong; and the compiled code, which is taken instead of the source
-- where it is known. The body alone must be a chunk, so that it cannot close what wraps it.
local function compiled(script, code, lines, head, source, tail)
  if code ~= "" then return load(code, script, "b", env), nil, code end
  local text = lines .. source
  local chunk, problem = load(text, script, "t", env)
  if chunk and head ~= "" then chunk, problem = load(lines .. head .. source .. tail, script, "t", env) end
  return chunk, problem, chunk and dump(chunk)
end

-- Gives what is wrong or nil, and the compiled code.
function driver.load(number, name, more, globals, script, code, lines, head, source, tail)
  local chunk, problem
  chunk, problem, code = compiled(script, code, lines, head, source, tail)
  if not chunk then return problem, nil end
  functions[number], readback[number], sizes[number] = chunk(), more, #source
  if globals then
    local names = {}
    for name in gmatch(globals, "%S+") do names[#names + 1] = name end
    shown[number] = names
  end
  budget.loaded(#source)
  if name and more == 0 then rawset(env, name, functions[number]) end
  return nil, code
end

function driver.unload(number, name)
  if name and rawget(env, name) == functions[number] then rawset(env, name, nil) end
  functions[number], shown[number] = nil, nil
  budget.loaded(-sizes[number])
end

function driver.add_module(name, script, code, source)
  local chunk, problem
  chunk, problem, code = compiled(script, code, "", "", source, "")
  if not chunk then return problem, nil end
  budget.loaded(#source)
  sandbox.add_module(name, chunk)
  return nil, code
end

-- ---- coverage: its part is made at first use

local coverage

local function covering()
  coverage = coverage or part("coverage")(budget)
  return coverage
end

function driver.cover() covering().begin() end

-- How often each line ran, as JSON.
function driver.covered() return encoded(covering().counts()) end

-- Gives what is wrong or nil, and the lines that can run in a script, as JSON.
function driver.lines(script, text)
  local chunk, problem = load(text, script, "t", env)
  if not chunk then return problem, nil end
  return nil, encoded(covering().lines(chunk))
end

functions[0], readback[0] = function(name) env.require(name) end, 0 -- what a module gives stays in Lua
budget.ready()
return driver
