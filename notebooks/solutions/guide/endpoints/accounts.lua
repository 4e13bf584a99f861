--#ENDPOINT POST /api/user/signup
-- {email, name, password}: a new account, which the link in the mail activates.
local answers, people = require("answers"), require("people")
local given, refusal = answers.json(request, response)
if not given then
  return refusal
end
local code = User.createUser{email = given.email, name = given.name, password = given.password}
if answers.failed(code) then
  return answers.hand_on(response, code)
end
local text = "Welcome. This link activates your account:"
local sent = people.send_link(given.email, "Activate your account", text, "/api/verify/" .. code)
if answers.failed(sent) then
  return answers.hand_on(response, sent)
end
return {message = "A mail with a link to activate the account is on its way."}

--#ENDPOINT GET /api/verify/{code}
-- Only who opens the link activates: a mail program that looks at it with HEAD does not.
local answers = require("answers")
if request.method ~= "GET" then
  response.headers.Allow = "GET"
  return answers.refuse(response, 405, "open the link to activate the account")
end
local result = User.activateUser{code = request.parameters.code}
if result ~= "OK" then
  return answers.refuse(response, 401, "The account was not activated: " .. (result.message or "unknown code"))
end
return {message = "The account is active: you can log in."}

--#ENDPOINT POST /api/forgotten
-- {email}: sends a link that lets its owner set a new password.
local answers, people, reset_tokens = require("answers"), require("people"), require("reset_tokens")
local given, refusal = answers.json(request, response)
if not given then
  return refusal
end
local email = answers.text(given.email)
if not email then
  return answers.refuse(response, 400, "email is missing")
end
local user = people.find(email)
if not user then
  return answers.refuse(response, 404, "nobody has this email")
end
local token, problem = reset_tokens.issue(user.id)
if not token then
  return answers.hand_on(response, problem)
end
local text = "This link lets you set a new password. It is good once, for 24 hours:"
local sent = people.send_link(user.email, "Reset your password", text, "/reset?rt=" .. token)
if answers.failed(sent) then
  return answers.hand_on(response, sent)
end
return {message = "A mail with a link to set a new password is on its way."}

--#ENDPOINT POST /api/resetPassword
-- {resetToken, password}
local answers, reset_tokens = require("answers"), require("reset_tokens")
local given, refusal = answers.json(request, response)
if not given then
  return refusal
end
local token, password = answers.text(given.resetToken), answers.text(given.password)
if not token or not password then
  return answers.refuse(response, 400, (token and "password" or "resetToken") .. " is missing")
end
local user_id, tokens = reset_tokens.take(token)
if not user_id then
  return answers.refuse(response, 400, "the reset token is unknown, used or expired")
end
local result = User.resetUserPassword{id = user_id, password = password}
if result.status then
  reset_tokens.give_back(user_id, tokens)
  return answers.hand_on(response, result)
end
reset_tokens.forget(user_id, tokens)
return result

--#ENDPOINT GET /reset
-- Where the link of a mail leads. The page is the same for everybody: its script reads the token from the
-- address.
return require("pages").show(response, "Set a new password", [[
<form id="form">
<p><label>New password <input id="password" type="password" autocomplete="new-password" required></label>
<button>Set it</button>
</form>
<p id="told" role="status">
<script>
document.getElementById("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const told = document.getElementById("told");
  const answer = await fetch("/api/resetPassword", {
    method: "POST",
    headers: {"Content-Type": "application/json"},
    body: JSON.stringify({
      resetToken: new URLSearchParams(location.search).get("rt"),
      password: document.getElementById("password").value,
    }),
  });
  told.textContent = answer.ok ? "The new password is set: you can log in." : (await answer.json()).message;
});
</script>
]], true)
