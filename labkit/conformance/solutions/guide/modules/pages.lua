-- Pages of HTML that need nothing from elsewhere.
local pages = {}

local ENTITIES = {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;"}

local LAYOUT = [[
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>%s</title>
<style>body { font: 1rem/1.5 sans-serif; max-width: 32rem; margin: 3rem auto; padding: 0 1rem }</style>
<h1>%s</h1>
%s
]]

-- Text as it may stand in HTML, within quotes too.
function pages.escaped(text)
  return (tostring(text):gsub("[&<>\"']", ENTITIES))
end

-- A page. content: HTML; script: may it hold a script of its own, that calls this solution?
function pages.show(response, title, content, script)
  local allowed = script and "script-src 'unsafe-inline'; connect-src 'self'; " or ""
  local headers = response.headers
  headers["Content-Type"] = "text/html; charset=utf-8"
  headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'; " .. allowed
    .. "base-uri 'none'; frame-ancestors 'none'"
  headers["Cache-Control"] = "no-store"
  headers["Referrer-Policy"] = "no-referrer"
  title = pages.escaped(title)
  return LAYOUT:format(title, title, content)
end

-- A page that says why not.
function pages.refuse(response, status, message)
  response.code = status
  return pages.show(response, "Not possible", "<p>" .. pages.escaped(message) .. "</p>")
end

return pages
