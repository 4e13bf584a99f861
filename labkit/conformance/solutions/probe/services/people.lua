--#EVENT user account
require("told").keep(event.email, "account", event)
