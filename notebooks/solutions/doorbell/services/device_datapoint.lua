local last = tonumber(Keystore.get{key = "last:" .. data.device_sn}.value or 0)
local now = os.time()
if data.value[2] ~= "1" or now - last < 60 then return end
Keystore.set{key = "last:" .. data.device_sn, value = now}
local failed = 0
for _, number in ipairs(Keystore.command{key = "people", command = "smembers"}.value) do
  local answer = Twilio.postMessage{To = number, From = "+15550100", Body = "Somebody is at the door."}
  if answer.error then failed = failed + 1 end
end
if failed > 0 then Keystore.command{key = "failed", command = "incrby", args = {failed}} end
