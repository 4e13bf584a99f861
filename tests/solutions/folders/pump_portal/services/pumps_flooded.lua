Keystore.command({key = "flooded", command = "sadd", args = {event.sn}})
