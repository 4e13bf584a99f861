Keystore.command({key = "accounts." .. event.type:lower(), command = "incr"})
