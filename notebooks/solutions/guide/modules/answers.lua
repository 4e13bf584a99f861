-- What endpoints answer, and what the answers of operations mean.
local answers = {}

-- A refusal of this endpoint: a status, and a text for whoever called.
function answers.refuse(response, status, message)
  response.code = status
  return {message = message}
end

-- Did an operation fail? Those that give text on success give a table otherwise.
function answers.failed(result)
  return type(result) == "table" and result.error ~= nil
end

-- What an error object tells: `error` of the User service is JSON text with `message`, and `code` where
-- there is one; that of other services is plain.
function answers.told(result)
  local told = from_json(result.error)
  if type(told) ~= "table" then
    told = {message = result.error}
  end
  return told
end

-- A refusal that hands on an operation's error, with its own status or with another one.
function answers.hand_on(response, result, status)
  return answers.refuse(response, status or result.status or 500, answers.told(result).message)
end

-- The fields of a body; none where the body is no object.
function answers.fields(request)
  return type(request.body) == "table" and request.body or {}
end

-- The fields of a body of JSON, or nil and a refusal. A page of another site can have a browser send any text, and with
-- it a login that is not its user's, but not as application/json: so nothing else is taken for JSON.
function answers.json(request, response)
  local sent = (request.headers["content-type"] or ""):lower():match("^%s*([^;%s]*)")
  local empty = type(request.body) == "table" and next(request.body) == nil
  if not empty and sent ~= "application/json" then
    return nil, answers.refuse(response, 415, "send JSON, with the Content-Type application/json")
  end
  return answers.fields(request)
end

-- A field that must be text with something in it, or nil.
function answers.text(value)
  return type(value) == "string" and value ~= "" and value or nil
end

-- Text within a URL (RFC 3986, section 2.3).
function answers.url_encoded(text)
  return (text:gsub("[^%w%-._~]", function(byte)
    return ("%%%02X"):format(byte:byte())
  end))
end

return answers
