-- math.random on bytes of the host, so that nobody can guess what comes next; randomseed changes nothing.
local random_bytes, budget = ...

local byte, floor, native = string.byte, math.floor, math.random
local error, tonumber, type = error, tonumber, type

local EACH, BLOCK = 7, 64 * 7 -- bytes for a number; fetched at once

local pool, at = "", 1
local random = { library = {} }

-- From 0 to below 1, in steps of 2^-53.
local function draw()
  if at > #pool then
    budget.lift() -- the text arrives outside of a protected call
    pool, at = random_bytes(BLOCK), 1
    budget.restore()
  end
  local a, b, c, d, e, f, g = byte(pool, at, at + EACH - 1)
  at = at + EACH
  return ((((((a % 32 * 256 + b) * 256 + c) * 256 + d) * 256 + e) * 256 + f) * 256 + g) / 2 ^ 53
end

function random.library.random(m, n)
  if m == nil and n == nil then return draw() end
  local low, high = 1, tonumber(m)
  if n ~= nil then low, high = high, tonumber(n) end
  if not low or not high then -- complains
    if n == nil then return native(m) end
    return native(m, n)
  end
  return floor(draw() * (high - low + 1)) + low
end

function random.library.randomseed(seed)
  if not tonumber(seed) then
    error("bad argument #1 to 'randomseed' (number expected, got " .. (seed == nil and "no value" or type(seed)) .. ")", 2)
  end
end

-- A text of bytes.
function random.bytes(count)
  if count == 0 then return "" end
  budget.lift()
  local text = random_bytes(count)
  budget.restore()
  return text
end

-- A run begins: what is left belongs to another one.
function random.begin()
  pool, at = "", 1
end

return random
