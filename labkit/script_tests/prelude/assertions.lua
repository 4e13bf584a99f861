-- assert: `assert(value, message)` as in Lua, and luassert's `assert.are.equal(1, n)`, `assert.is_not_nil(x)`.
local parts = labkit_parts
local shown, describe_error, has_text = parts.shown, parts.describe_error, parts.has_text
local MODIFIERS = {}
for word in ("is are was were has have does to be a an the"):gmatch("%a+") do MODIFIERS[word] = "" end
for word in ("not no isnt doesnt"):gmatch("%a+") do MODIFIERS[word] = "not" end
MODIFIERS.message = "message"
local NO_SPIES = "tests have no spies, stubs, mocks and matchers: lab.stub(service, {operation = result}) replaces a service"

local function same(a, b, seen)
  if a == b then return true end
  if type(a) ~= "table" or type(b) ~= "table" then return a ~= a and b ~= b end
  if seen[a] == b then return true end
  seen[a] = b
  for key, value in pairs(a) do
    if not same(value, b[key], seen) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end

-- Each check gets the arguments as a table with their number `n`; expected comes first, as in luassert. It returns
-- whether it holds, the sentence for where it does not, the one for where it does and should not, the place of its
-- message among the arguments, and what the assertion returns if that is not its arguments.
local checks = {}

local function compared(word, expected, actual)
  local found = ":\n" .. shown(expected) .. "\nbut it is:\n" .. shown(actual)
  return "expected" .. word .. found, "expected anything else than" .. word .. found
end

local function need(name, a, least)
  if a.n < least then
    parts.fail("assert." .. name .. ": expected " .. least .. (least == 1 and " argument" or " arguments") .. ", not " .. a.n)
  end
end

local function need_kind(name, number, value, kind)
  if type(value) ~= kind then
    parts.fail("assert." .. name .. ": argument " .. number .. ": expected a " .. kind .. ", not " .. shown(value))
  end
end

function checks.equal(a)
  need("equal", a, 2)
  local text, contrary = compared("", a[1], a[2])
  if same(a[1], a[2], {}) then text = text .. "\nwhich is another table: assert.same compares what tables have" end
  return a[1] == a[2], text, contrary, 3
end
checks.equals = checks.equal

function checks.same(a)
  need("same", a, 2)
  local text, contrary = compared(" the same as", a[1], a[2])
  return same(a[1], a[2], {}), text, contrary, 3
end

function checks.near(a)
  need("near", a, 3)
  local expected, tolerance = tonumber(a[1]), tonumber(a[3])
  need_kind("near", 1, expected or a[1], "number")
  need_kind("near", 3, tolerance or a[3], "number")
  local actual = tonumber(a[2])
  local text, contrary = compared(" within " .. shown(tolerance) .. " of", a[1], a[2])
  return actual ~= nil and math.abs(expected - actual) <= tolerance, text, contrary, 4
end

-- The first argument from the third on that is neither a number nor a boolean: the message of checks of patterns.
local function message_after_options(a)
  for i = 3, a.n do
    if a[i] ~= nil and type(a[i]) ~= "boolean" and type(a[i]) ~= "number" then return i end
  end
  return a.n + 1
end

local function found_in(text, a)
  local first = a[4] and { text:find(a[2], a[3], true) } or { text:match(a[2], a[3]) }
  return first[1] ~= nil, first
end

function checks.matches(a)
  need("matches", a, 2)
  need_kind("matches", 1, a[1], "string")
  local text, contrary = compared(" text that matches", a[1], a[2])
  local at = message_after_options(a)
  if not has_text(a[2]) and type(a[2]) ~= "number" then return false, text, contrary, at end
  local holds, returned = found_in(tostring(a[2]), { a[2], a[1], a[3], a[4] == true })
  return holds, text, contrary, at, holds and returned or nil
end
checks.match = checks.matches

function checks.truthy(a)
  need("truthy", a, 1)
  local value = shown(a[1])
  return a[1] and true or false, "expected a value other than nil and false: " .. value, "expected nil or false: " .. value, 2
end
checks.ok = checks.truthy

function checks.falsy(a)
  need("falsy", a, 1)
  local value = shown(a[1])
  return not a[1], "expected nil or false: " .. value, "expected a value other than nil and false: " .. value, 2
end

for name, value in pairs({ ["true"] = true, ["false"] = false }) do
  checks[name] = function(a)
    local text, contrary = compared("", value, a[1])
    return a[1] == value, text, contrary, 2
  end
end

checks["nil"] = function(a)
  need("is_nil", a, 1)
  local text, contrary = compared("", nil, a[1])
  return a[1] == nil, text, contrary, 2
end

for _, kind in ipairs({ "string", "number", "boolean", "table", "function", "thread", "userdata" }) do
  checks[kind] = function(a)
    local value = kind .. ": " .. shown(a[1])
    return type(a[1]) == kind, "expected a " .. value, "expected no " .. value, 2
  end
end

-- assert.unique(list, message), assert.unique(list, deep, message): deep compares tables by what they have in them.
function checks.unique(a)
  need_kind("unique", 1, a[1], "table")
  local plain = type(a[2]) ~= "boolean" and not (a[2] == nil and a.n > 2)
  local deep, list = not plain and a[2], shown(a[1])
  local text, contrary = "expected different elements: " .. list, "expected an element that comes twice: " .. list
  for key, first in pairs(a[1]) do
    for other, second in pairs(a[1]) do
      if key ~= other and (first == second or deep and same(first, second, {})) then
        return false, text, contrary, plain and 2 or 3
      end
    end
  end
  return true, text, contrary, plain and 2 or 3
end

local function bare(problem)
  if type(problem) == "string" then return (problem:gsub("^[^\n]-:%d+: ", "", 1)) end
  return problem
end

-- Call a function that has to raise an error; return whether it did, and the error without its place.
local function raised(name, a)
  local meta = getmetatable(a[1])
  if not (type(meta) == "table" and meta.__call) then need_kind(name, 1, a[1], "function") end
  local ok, problem = pcall(a[1])
  return not ok, bare(problem), problem
end

function checks.error(a)
  local failed, problem, whole = raised("has_error", a)
  if not failed then return false, "expected an error", "", 3 end
  if a[2] == nil then return true, "", "expected no error, but it is:\n" .. describe_error(whole), 3, { problem } end
  local text, contrary = compared(" the error", a[2], problem)
  local holds = same(a[2], problem, {}) or same(a[2], whole, {})
  if not holds and type(a[2]) == "string" and has_text(problem) then holds = a[2] == tostring(problem) end
  if not holds and type(a[2]) == "number" then holds = a[2] == tonumber(problem) end
  return holds, text, contrary, 3, { problem }
end
checks.errors = checks.error

function checks.error_matches(a)
  need("error_matches", a, 2)
  need_kind("error_matches", 2, a[2], "string")
  local failed, problem = raised("error_matches", a)
  if not failed then return false, "expected an error", "", message_after_options(a) end
  local known = has_text(problem) and tostring(problem) or describe_error(problem)
  local text, contrary = compared(" an error that matches", a[2], known)
  local holds, returned = found_in(known, { a[1], a[2], a[3], a[4] == true })
  return holds, text, contrary, message_after_options(a), holds and returned or nil
end
checks.error_match, checks.matches_error, checks.match_error = checks.error_matches, checks.error_matches, checks.error_matches

function checks.returned_arguments(a)
  need("returned_arguments", a, 1)
  local text, contrary = compared(" as many results as", a[1], a.n - 1)
  return a[1] == a.n - 1, text, contrary, a.n + 1
end

-- Checks of the author's own, as with luassert: assert:register("assertion", name, f, positive, negative), whose texts
-- are keys of the module `say`.
local function register(_, kind, name, f, positive, negative)
  if kind ~= "assertion" then parts.fail("assert:register: expected 'assertion', not " .. shown(kind)) end
  need_kind("register", 2, name, "string")
  need_kind("register", 3, f, "function")
  checks[name:lower()] = function(a)
    local say, values, own = require("say"), {}, {}
    for i = 1, a.n do values[i], own[i] = shown(a[i]), a[i] end
    own.n = a.n
    local state = { mod = true }
    local holds = f(state, own) and true or false
    local function text(key) return say(key, values) or key or "expected " .. name .. ": " .. table.concat(values, ", ") end
    a.message = state.failure_message
    return holds, text(positive), text(negative), a.n + 1
  end
end

-- Settings of how luassert shows values: it shows them whole here.
local function without_effect() end
local METHODS = { register = register, set_parameter = without_effect, add_formatter = without_effect, remove_formatter = without_effect }
local SPIES = { spy = true, stub = true, mock = true, snapshot = true, called = true }

-- The check that words name, whether it is negated, and whether the words give a message for it: longer names first, so
-- that `error.matches` is one check.
local function resolve(words)
  local name, negated, is_message
  local first = 1
  while first <= #words do
    local word, last
    for i = #words, first, -1 do
      word = table.concat(words, "_", first, i)
      last = i
      if checks[word] or MODIFIERS[word] then break end
    end
    if checks[word] then
      name = word
    elseif MODIFIERS[word] == "not" then
      negated = not negated
    elseif MODIFIERS[word] == "message" then
      is_message = true
    elseif SPIES[word] then
      parts.fail("assert." .. word .. ": " .. NO_SPIES)
    elseif not MODIFIERS[word] then
      local rest = table.concat(words, "_", first)
      parts.fail("assert has no check '" .. rest .. "'" .. parts.similar(rest, checks))
    end
    first = last + 1
  end
  return name, negated, is_message
end

local function failed(text, message)
  parts.fail((message == nil and "" or (has_text(message) and tostring(message) or shown(message)) .. "\n") .. text)
end

local function checked(name, negated, message, ...)
  local a = { n = select("#", ...), ... }
  local holds, text, contrary, at, returned = checks[name](a)
  if holds == (negated or false) then
    if message == nil then message = a.message end
    if message == nil then message = a[at] end
    failed(negated and contrary or text, message)
  end
  if returned then return unpack(returned) end
  return ...
end

-- What follows `assert.`: words such as `is` and `not`, parted by a dot or `_`, and at last the name of a check.
local function chain(words, message)
  return setmetatable({}, {
    __index = function(_, key)
      local more = { unpack(words) }
      for part in tostring(key):lower():gmatch("[^_]+") do more[#more + 1] = part end
      return chain(more, message)
    end,
    __call = function(_, ...)
      local name, negated, is_message = resolve(words)
      if name then return checked(name, negated, message, ...) end
      if is_message then return chain({}, (...)) end
      parts.fail("assert: name a check, such as assert.equal")
    end,
  })
end

assert = setmetatable({}, {
  __index = function(_, key)
    if METHODS[key] then return METHODS[key] end
    return chain({}, nil)[key]
  end,
  __call = function(_, value, message, ...)
    if not value then
      if type(message) == "table" and not has_text(message) then error(message, 0) end
      parts.fail(message == nil and "assertion failed!" or tostring(message))
    end
    return value, message, ...
  end,
})

for _, word in ipairs({ "spy", "stub", "mock", "match" }) do
  local function refuse() parts.fail(word .. ": " .. NO_SPIES) end
  _G[word] = setmetatable({}, { __index = refuse, __call = refuse })
end
