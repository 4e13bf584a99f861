-- Base64, in the alphabet of HTTP Basic and in that of JWTs (RFC 4648, sections 4 and 5).
local base64 = {}

local LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
local VALUES = {["-"] = 62, ["_"] = 63}
for at = 1, #LETTERS do
  VALUES[LETTERS:sub(at, at)] = at - 1
end

-- What a text stands for; nil where it is no Base64.
function base64.decode(text)
  text = text:gsub("=+$", "")
  if text:find("[^%w+/_-]") or #text % 4 == 1 then
    return nil
  end
  local bytes, bits, left = {}, 0, 0
  for at = 1, #text do
    bits, left = bits * 64 + VALUES[text:sub(at, at)], left + 6
    if left >= 8 then
      left = left - 8
      bytes[#bytes + 1] = string.char(math.floor(bits / 2 ^ left))
      bits = bits % 2 ^ left
    end
  end
  return table.concat(bytes)
end

return base64
