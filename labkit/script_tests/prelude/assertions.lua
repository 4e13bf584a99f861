-- assert: `assert(value, message)` as in Lua, and luassert's `assert.are.equal(1, n)`, `assert.is_not_nil(x)`.
local WORDS = { is = true, are = true, was = true, were = true, has = true, have = true, does = true, to = true, be = true, a = true, an = true, the = true }
local NEGATIONS = { ["not"] = true, no = true, Not = true, isnt = true, doesnt = true }
local OWN = "^%[labkit%]" -- files of this harness, and of the platform

-- The file and line of the test's own code that is being run, or an empty text.
function labkit_place()
  for level = 3, 30 do
    local _, where = pcall(error, "", level)
    if type(where) == "string" and where ~= "" and not where:find(OWN) then return (where:gsub(": $", "")) end
  end
  return ""
end
local place = labkit_place

local function quoted(value, seen, indent)
  local kind = type(value)
  if kind == "string" then return string.format("%q", value) end
  if kind ~= "table" then return tostring(value) end
  if seen[value] then return "{ … }" end
  seen[value] = true
  local keys, lines = {}, {}
  for key in pairs(value) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b)
    if type(a) == type(b) and (type(a) == "number" or type(a) == "string") then return a < b end
    return type(a) .. tostring(a) < type(b) .. tostring(b)
  end)
  for _, key in ipairs(keys) do
    local name = type(key) == "string" and key:find("^[%a_][%w_]*$") and key or "[" .. quoted(key, seen, "") .. "]"
    lines[#lines + 1] = indent .. "  " .. name .. " = " .. quoted(value[key], seen, indent .. "  ") .. ","
  end
  seen[value] = nil
  if #lines == 0 then return "{}" end
  return "{\n" .. table.concat(lines, "\n") .. "\n" .. indent .. "}"
end

local function shown(value)
  local text = quoted(value, {}, "")
  return #text > 4000 and text:sub(1, 4000) .. " …" or text
end

local function describe_error(problem)
  if type(problem) == "string" then return problem end
  local meta = getmetatable(problem)
  if type(meta) == "table" and meta.__tostring then return tostring(problem) end
  return "the error is " .. shown(problem)
end
labkit_describe_error = describe_error

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

-- Each check returns whether it holds, and the sentence of what was found; expected comes first, as in luassert.
local checks = {}

local function compared(word, expected, actual)
  return "expected " .. word .. ":\n" .. shown(expected) .. "\nbut it is:\n" .. shown(actual)
end

function checks.equal(expected, actual) return expected == actual, compared("", expected, actual) end
function checks.same(expected, actual) return same(expected, actual, {}), compared("the same as", expected, actual) end
checks.equals, checks.same_as = checks.equal, checks.same

function checks.near(expected, actual, tolerance)
  local ok = type(actual) == "number" and math.abs(expected - actual) <= tolerance
  return ok, compared("within " .. tostring(tolerance) .. " of", expected, actual)
end

function checks.matches(pattern, text)
  return type(text) == "string" and text:find(pattern) ~= nil, compared("text that matches", pattern, text)
end
checks.match = checks.matches

function checks.truthy(value) return value and true or false, "expected a value other than nil and false: " .. shown(value) end
function checks.falsy(value) return not value, "expected nil or false: " .. shown(value) end
checks.ok = checks.truthy
checks["true"] = function(value) return value == true, compared("", true, value) end
checks["false"] = function(value) return value == false, compared("", false, value) end
checks["nil"] = function(value) return value == nil, compared("", nil, value) end
checks.True, checks.False, checks.Nil = checks["true"], checks["false"], checks["nil"]

for _, kind in ipairs({ "string", "number", "boolean", "table", "function", "thread", "userdata" }) do
  local function check(value) return type(value) == kind, "expected a " .. kind .. ": " .. shown(value) end
  checks[kind], checks[kind:sub(1, 1):upper() .. kind:sub(2)] = check, check
end

function checks.unique(list)
  for i, first in ipairs(list) do
    for j = i + 1, #list do
      if same(first, list[j], {}) then return false, "expected different elements: " .. shown(list) end
    end
  end
  return true, "expected an element that comes twice: " .. shown(list)
end

local function bare(problem) return type(problem) == "string" and problem:gsub("^[^\n]-:%d+: ", "") or problem end

function checks.error(f, expected)
  local ok, problem = pcall(f)
  if ok then return false, "expected an error" end
  local holds = expected == nil or same(expected, problem, {}) or same(expected, bare(problem), {})
  return holds, expected == nil and "expected no error: " .. shown(problem) or compared("the error", expected, bare(problem))
end
checks.errors = checks.error

function checks.error_matches(f, pattern)
  local ok, problem = pcall(f)
  if ok then return false, "expected an error" end
  local text = describe_error(problem)
  return text:find(pattern) ~= nil, compared("an error that matches", pattern, text)
end
checks.error_match = checks.error_matches

local MESSAGE_AT = { equal = 3, equals = 3, same = 3, near = 4, matches = 3, error = 3, errors = 3 }

local function fail(text, message)
  local where = place()
  local told = (message == nil and "" or tostring(message) .. "\n") .. text
  error(where == "" and told or where .. ": " .. told, 0)
end

local chain

local function checked(name, negated, ...)
  local ok, text = checks[name](...)
  if negated then ok, text = not ok, "expected the contrary: " .. text end
  if not ok then fail(text, (select(MESSAGE_AT[name] or 2, ...))) end
  return ...
end

-- What follows `assert.`: words such as `is` and `not`, parted by a dot or `_`, and at last the name of a check.
local function follow(negated, key)
  if checks[key] then return chain(negated, key) end
  local name
  for part in tostring(key):gmatch("[^_]+") do
    if name then
      name = name .. "_" .. part
    elseif NEGATIONS[part] then
      negated = not negated
    elseif not WORDS[part] then
      name = part
    end
  end
  if name and not checks[name] then
    error("assert has no check '" .. name .. "'", 3)
  end
  return chain(negated, name)
end

chain = function(negated, name)
  return setmetatable({}, {
    __index = function(_, key) return follow(negated, key) end,
    __call = function(_, ...)
      if not name then error("assert: name a check, such as assert.equal", 2) end
      return checked(name, negated, ...)
    end,
  })
end

assert = setmetatable({}, {
  __index = function(_, key) return follow(false, key) end,
  __call = function(_, value, message, ...)
    if not value then
      if type(message) == "table" then error(message, 0) end
      fail(message == nil and "assertion failed!" or tostring(message))
    end
    return value, message, ...
  end,
})
