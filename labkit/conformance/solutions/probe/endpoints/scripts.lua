--#ENDPOINT GET /scripts/raises
local nothing = nil
return nothing.field

--#ENDPOINT GET /scripts/throws
error({reason = "as it was asked to"})

--#ENDPOINT GET /scripts/endless
while true do end

--#ENDPOINT GET /scripts/stubborn
-- Goes on whatever stops it.
while true do
  pcall(function() while true do end end)
end

--#ENDPOINT GET /scripts/hungry
local kept = {}
while true do
  kept[#kept + 1] = string.rep("x", 100000) .. #kept
end

--#ENDPOINT GET /scripts/well
return "well"

--#ENDPOINT POST /scripts/handler
-- Calls a handler of this solution as other scripts may, with the body as its event.
handle_device_datapoint(request.body)

--#ENDPOINT GET /scripts/modules
return {required = require("tools.greeting").of("route"), global = greeting_of_all("route")}

--#ENDPOINT GET /scripts/sandbox
-- What of the outside is in reach.
local found = {}
local function look(name, value)
  if value ~= nil and value ~= false then
    found[#found + 1] = name
  end
end
local missing = {
  "io", "debug", "package", "jit", "ffi", "python", "dofile", "loadfile", "newproxy", "setfenv", "getfenv",
  "jit.util", "string.buffer", "table.new", "table.clear",
}
for _, name in ipairs(missing) do
  look(name, rawget(_G, name))
  look("require " .. name, (pcall(require, name)))
end
look("string.dump", string.dump)
look("bytecode", load("\27LJ\2\10"))
look("bytecode in pieces", load((function()
  local pieces = {"\27LJ", "\2\10"}
  return function() return table.remove(pieces, 1) end
end)()))
look("the metatable of texts", type(getmetatable("").__index) == "table" and getmetatable("").__index.dump)
for name in pairs(os) do
  look("os." .. name, true)
end
table.sort(found)
return found
