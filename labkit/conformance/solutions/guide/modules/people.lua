-- Finding people, and writing to them.
local people = {}

-- The user with an address, or nil. The operator like also finds addresses that only contain the text (and
-- takes % and _ for anything): whoever is not exactly the one that was asked for must not be taken for him.
function people.find(email)
  local found = User.listUsers{filter = "email::like::" .. email}
  for _, user in ipairs(found) do
    if user.email:lower() == email:lower() then
      return user
    end
  end
end

-- Send a link to this solution; gives what Email.send does.
function people.send_link(email, subject, text, path)
  local domain = Config.solution().domain
  return Email.send{
    from = "no-reply@" .. domain:gsub(":%d+$", ""),
    to = email,
    subject = subject,
    text = text .. "\n\nhttps://" .. domain .. path .. "\n",
  }
end

return people
