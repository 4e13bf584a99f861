-- Tokens that let the owner of an address set a new password: each is good once, for a day.
local reset_tokens = {}

local LIFETIME = 86400 -- seconds

-- Where a token is kept. Its HMAC stands for it: keys are shown in logs and by Keystore.list, and nobody who
-- reads them shall be able to use what he reads. Text of other sorts leads to no other keys either.
local function place(token)
  local signed = User.jwtSign{key = token, payload = {sub = "reset"}, algorithm = "HS256"}
  return signed.token and "reset:" .. signed.token:match("[^.]+$")
end

-- Nothing that Lua computes is a secret: math.random can be foreseen. The platform makes unguessable text for
-- every OAuth client, so one is made for its secret, and deleted at once.
local function unguessable(user_id)
  local client = User.createOauthClient{id = user_id, name = "reset", redirect = "https://reset.invalid/"}
  if not client.secret then
    return nil, client
  end
  User.deleteOauthClient{id = user_id, client_id = client.id}
  return client.secret
end

-- A new token for a user; nil and an error object where there can be none.
function reset_tokens.issue(user_id)
  local token, problem = unguessable(user_id)
  if not token then
    return nil, problem
  end
  local kept = Keystore.command{key = place(token), command = "setex", args = {LIFETIME, user_id}}
  if kept.status then
    return nil, kept
  end
  return token
end

-- The id of the user whom a token was issued for, and the milliseconds that it had left; nil for no such token. It
-- is gone then: of two who come with one token at once, one gets it.
function reset_tokens.take(token)
  local key = place(token)
  local user_id = key and Keystore.get{key = key}.value
  if user_id then
    local left = Keystore.command{key = key, command = "pttl"}.value
    if Keystore.command{key = key, command = "del"}.value == 1 then
      return user_id, left
    end
  end
end

-- Undo take: no new password came of it.
function reset_tokens.give_back(token, user_id, left)
  Keystore.command{key = place(token), command = "psetex", args = {left, user_id}}
end

return reset_tokens
