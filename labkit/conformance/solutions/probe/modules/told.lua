-- What this solution was told of a device, in the order in which it was.
local told = {}

local function key(identity)
  return "told:" .. identity
end

function told.keep(identity, handler, event)
  local text = to_json({handler = handler, event = event})
  Keystore.command{key = key(identity), command = "rpush", args = {text}}
  Keystore.command{key = key(identity), command = "expire", args = {86400}}
end

function told.all(identity)
  local found = Keystore.command{key = key(identity), command = "lrange", args = {0, -1}}
  local events = found.value
  for index, text in ipairs(events) do
    events[index] = from_json(text)
  end
  return events
end

return told
