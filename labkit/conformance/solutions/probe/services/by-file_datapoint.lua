-- Without a header, the name of the file says service and event.
require("told").keep(data.device_sn, "by file", {event = data, context = context})
