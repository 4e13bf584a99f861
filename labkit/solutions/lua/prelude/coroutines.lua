-- Coroutines of scripts. A service call may happen inside of one: the request then passes up through every
-- resume to the driver, and the answer down again, unseen by the script.
local budget, most_coroutines, call = ...

local create, resume, yield = coroutine.create, coroutine.resume, coroutine.yield
local running, status, yieldable = coroutine.running, coroutine.status, coroutine.isyieldable
local collect, error, next, setmetatable, type = collectgarbage, error, next, setmetatable, type

local LIMIT = "coroutine limit: more than " .. most_coroutines .. " alive"
local REQUEST = {}  -- marks a yield that is meant for the driver
local DEEPEST = 100 -- coroutines inside one another: each takes C stack
local weak = { __mode = "k" }
local level = setmetatable({}, weak)   -- of those that scripts made: how deep they were when last resumed
local waiting = setmetatable({}, weak) -- those that wait for a service
local made = 0                         -- since they were last counted

local library = {}
local answered

local function count()
  collect()
  made = 0
  for _ in next, level do made = made + 1 end
end

local function pass(co, ok, first, ...)
  if ok and first == REQUEST then
    waiting[co] = true
    return answered(co, yield(REQUEST, ...))
  end
  if not ok then budget.look(first) end
  return ok, first, ...
end

answered = function(co, ...)
  waiting[co] = nil
  return pass(co, resume(co, ...))
end

function library.create(f)
  made = made + 1
  if made > most_coroutines then
    count()
    if made >= most_coroutines then
      budget.stop("coroutines", LIMIT)
    end
  end
  local co = create(f)
  level[co] = 0
  return co
end

function library.resume(co, ...)
  if not level[co] then return resume(co, ...) end -- complains
  if waiting[co] then return false, "cannot resume a coroutine that waits for a service" end
  local depth = (level[running()] or 0) + 1
  if depth > DEEPEST then return false, "too many coroutines inside one another" end
  level[co] = depth
  return pass(co, resume(co, ...))
end

local function unwrap(ok, ...)
  if ok then return ... end
  error((...), 0)
end

function library.wrap(f)
  local co = library.create(f)
  return function(...)
    return unwrap(library.resume(co, ...))
  end
end

function library.yield(...)
  if not level[running()] then error("attempt to yield from outside a coroutine", 2) end
  return yield(...)
end

function library.status(co)
  if type(co) == "thread" and waiting[co] then return "normal" end
  return status(co)
end

-- The coroutine that the driver made is the script's main program.
function library.running()
  local co = running()
  return level[co] and co or nil
end

function library.isyieldable()
  return level[running()] ~= nil and yieldable()
end

-- Make a service call; gives true and the result, or false and the reason. Python makes one that needs no wait within the
-- call. Otherwise the run is suspended for the driver; so it always is in a script's own coroutine, since an outer one
-- may be unable to yield, and a script gets that error whether or not the call has to wait.
local function request(service, operation, arguments)
  local result
  if yieldable() and not level[running()] then
    result = call(service, operation, arguments, budget.room(), budget.spent())
    if result then
      budget.begin()
      return true, result
    end
  end
  return yield(REQUEST, service, operation, arguments, result == false)
end

return library, request
