--#ENDPOINT GET /metrics
-- How many messages came today (UTC), and the last ten, newest first.
local count = Keystore.get{key = "dailyCount"}
local logs = Keystore.command{key = "logs", command = "lrange", args = {0, -1}}

return {dailyCount = count.value or "0", logs = logs.value}
