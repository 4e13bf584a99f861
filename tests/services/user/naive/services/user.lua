--#EVENT user account
Keystore.command({
  key = "accounts", command = "rpush",
  args = {event.type .. " " .. event.id .. " " .. event.email .. " " .. event.solution_id},
})
