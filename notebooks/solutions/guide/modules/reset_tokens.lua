-- Tokens that let the owner of an address set a new password: each is good once, for a day, and all that a person has
-- end with the first that is used.
--
-- The Keystore has the user's id under each token, and under each user's id the set of the user's tokens: one that is
-- not in it is dead.
local reset_tokens = {}

local LIFETIME = 86400 -- seconds
local LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
local LENGTH = 40

-- The prefixes keep other keys of the solution from being taken for tokens.
local function of_token(token)
  return "reset:" .. token
end

local function of_user(user_id)
  return "resets:" .. user_id
end

local function command(key, name, ...)
  return Keystore.command{key = key, command = name, args = {...}}
end

-- This platform's math.random cannot be foreseen; where it can, take another source.
local function unguessable()
  local letters = {}
  for at = 1, LENGTH do
    local which = math.random(#LETTERS)
    letters[at] = LETTERS:sub(which, which)
  end
  return table.concat(letters)
end

-- A new token for a user; nil and an error object where there can be none.
function reset_tokens.issue(user_id)
  local token, tokens = unguessable(), of_user(user_id)
  for _, kept in ipairs{
    command(of_token(token), "setex", LIFETIME, user_id),
    command(tokens, "sadd", token),
    command(tokens, "expire", LIFETIME),
  } do
    if kept.status then
      return nil, kept
    end
  end
  return token
end

-- The id of the user whom a token was issued for, and the user's tokens; nil for no such token. They are dead then:
-- of several who come at once, one gets them.
function reset_tokens.take(token)
  if not token:match("^%w+$") or #token ~= LENGTH then
    return nil
  end
  local user_id = Keystore.get{key = of_token(token)}.value
  local tokens = user_id and command(of_user(user_id), "smembers").value or {}
  for _, each in ipairs(tokens) do
    if each == token and command(of_user(user_id), "del").value == 1 then
      return user_id, tokens
    end
  end
end

-- Undo take: no new password came of it.
function reset_tokens.give_back(user_id, tokens)
  command(of_user(user_id), "sadd", unpack(tokens))
  command(of_user(user_id), "expire", LIFETIME)
end

-- The user has a new password: no token that was asked for before it is of use any more. tokens: the user's, where they
-- are known.
function reset_tokens.forget(user_id, tokens)
  tokens = tokens or command(of_user(user_id), "smembers").value or {}
  command(of_user(user_id), "del")
  for _, token in ipairs(tokens) do
    command(of_token(token), "del")
  end
end

return reset_tokens
