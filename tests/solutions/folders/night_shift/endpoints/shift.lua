--#ENDPOINT GET /shift
local kept = Keystore.mget({keys = {"none"}})
return {
  shift = Keystore.command({key = "shift", command = "hgetall"}).value,
  timers = Timer.list().list,
  double = Scripts.trigger({event = "double", data = {number = 21}}),
  sandbox = Scripts.sandbox({script = "return a * 2", parameters = {a = 4}}).value,
  none = kept.values,
}

--#ENDPOINT DELETE /shift
return Timer.cancelAll()
