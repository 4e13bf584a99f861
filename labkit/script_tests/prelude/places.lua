-- What the other parts share: the place of the test's own code that runs, errors at that place, and values as text.
local bridge = Labkit
local OWN = "^%[labkit%]" -- files of this harness, and of the platform

local parts = {}
labkit_parts = parts -- until the last part has it

-- The file and line of the solution's or the test's own code that is being run, or an empty text.
function parts.place()
  for level = 3, 60 do
    local _, where = pcall(error, "", level)
    if type(where) == "string" and where ~= "" and not where:find(OWN) then return (where:gsub(": $", "")) end
  end
  return ""
end

-- Raise an error at the place of the test's own code.
function parts.fail(text)
  local where = parts.place()
  error(where == "" and text or where .. ": " .. text, 0)
end

-- The end of an error's text about an unknown name: a similar name, or those that are there.
function parts.similar(name, known)
  local names = {}
  for each in pairs(known) do names[#names + 1] = tostring(each) end
  table.sort(names)
  return bridge.similar({ place = "", arguments = { name = tostring(name), known = names } }).value
end

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

function parts.shown(value)
  local text = quoted(value, {}, "")
  return #text > 4000 and text:sub(1, 4000) .. " …" or text
end

function parts.has_text(value)
  if type(value) == "string" then return true end
  local meta = getmetatable(value)
  return type(value) == "table" and type(meta) == "table" and meta.__tostring ~= nil
end

-- An error value as text, which begins with a place unless the error has none.
function parts.describe_error(problem)
  if parts.has_text(problem) then return (tostring(problem):gsub("^%[labkit%]/%w+%.lua:%d+: ", "")) end
  return "the error is " .. parts.shown(problem)
end
