--#ENDPOINT GET /accounts
-- What came of each device, in its order: {identity: [number, …]}.
local answer = {}
local devices = Keystore.command{key = "devices", command = "smembers", args = {}}
for _, identity in ipairs(devices.value) do
  local numbers = Keystore.command{key = "numbers:" .. identity, command = "lrange", args = {0, -1}}
  answer[identity] = numbers.value
end

return answer
