--#EVENT datapoint
-- The service is the name of the file. Handlers find the modules, and what happened and why.
require("told").keep(data.device_sn, "by word", {
  event = data,
  context = context,
  required = require("tools.greeting").of("handler"),
  global = greeting_of_all("handler"),
})

--#EVENT event
require("told").keep(event.identity, "by word, of the request", {event = event, context = context})
