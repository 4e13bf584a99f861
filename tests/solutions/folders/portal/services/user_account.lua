if event.type == "UPDATE" then return end
Keystore.command({key = "accounts", command = "rpush", args = {event.type .. " " .. event.email}})
