--#EVENT device datapoint
-- Each value that a device writes: one more message today, and the newest of the last ten.
local midnight = math.floor(1 + os.time() / 86400) * 86400

Keystore.command{key = "dailyCount", command = "incrby", args = {1}}
Keystore.command{key = "dailyCount", command = "expireat", args = {midnight}}
Keystore.command{key = "logs", command = "lpush", args = {data.value[2]}}
Keystore.command{key = "logs", command = "ltrim", args = {0, 9}}
