-- The module staging.mcrypto that the platform brings: random bytes, and base64 for URLs (RFC 4648, 5) without padding.
local random_bytes, charge = ...

local byte, sub, concat, floor = string.byte, string.sub, table.concat, math.floor
local error, tonumber, tostring, type = error, tonumber, tostring, type

local MOST = 65536 -- bytes of one call
local DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
local CHUNK = 3 * 1000

local digit = {}
for i = 0, 63 do digit[i] = sub(DIGITS, i + 1, i + 1) end

local function encoded(text)
  local out, n = {}, 0
  for at = 1, #text, 3 do
    local a, b, c = byte(text, at, at + 2)
    local bits = a * 65536 + (b or 0) * 256 + (c or 0)
    local group = digit[floor(bits / 262144)] .. digit[floor(bits / 4096) % 64]
    if b then group = group .. digit[floor(bits / 64) % 64] end
    if c then group = group .. digit[bits % 64] end
    n = n + 1
    out[n] = group
  end
  return concat(out)
end

local mcrypto = {}

function mcrypto.rand_bytes(count)
  local n = tonumber(count)
  if not n or n ~= floor(n) or n < 0 or n > MOST then
    error("bad argument #1 to 'rand_bytes' (a whole number from 0 to " .. MOST .. " expected, got " .. tostring(count) .. ")", 2)
  end
  return random_bytes(n)
end

function mcrypto.b64url_encode(text)
  if type(text) == "number" then text = tostring(text) end
  if type(text) ~= "string" then
    error("bad argument #1 to 'b64url_encode' (string expected, got " .. type(text) .. ")", 2)
  end
  charge(50 * #text)
  local parts, n = {}, 0
  for at = 1, #text, CHUNK do
    n = n + 1
    parts[n] = encoded(sub(text, at, at + CHUNK - 1))
  end
  return concat(parts)
end

return mcrypto
