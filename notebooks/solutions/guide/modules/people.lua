-- Finding people, and writing to them.
local people = {}

-- The user with an address, in whatever form a login takes it, or nil. The operator eq finds that one alone: like
-- would also find addresses that only contain the text, and take % and _ for anything.
function people.find(email)
  return User.listUsers{filter = "email::eq::" .. email}[1]
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
