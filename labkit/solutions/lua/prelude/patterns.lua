-- string.find, match, gmatch and gsub. The native functions serve whenever their worst case is small;
-- everything else goes through the matcher, which the hook can stop. Functions that scripts give to gsub are
-- called from Lua, never from C.
local matcher, budget, join = ...

local find, gmatch, gsub, match = string.find, string.gmatch, string.gsub, string.match
local byte, sub = string.byte, string.sub
local charge, pcall, stop = budget.charge, budget.pcall, budget.stop
local error, select, tonumber, tostring, type = error, select, tonumber, tostring, type

local QUICK = 1e6       -- steps (2 to 5 ns each) that a native call may take at worst
local MOST_PLAIN = 2e9  -- bytes that a plain search may compare at worst
local CACHE = 200

local library = {}
local compiled, kept = { [true] = {}, [false] = {} }, 0
local PLAIN = {}

-- The pattern in pieces, or PLAIN if it has no special character; to find (and to nothing else) a lone ) is none.
local function prepare(p, anchors, finding)
  local pattern = compiled[anchors][p]
  if pattern then return pattern end
  if not find(p, "[%^%$%*%+%?%.%(%[%%%-]") and (finding or not find(p, ")", 1, true)) then return PLAIN end
  local ok
  ok, pattern = pcall(matcher.compile, p, anchors)
  if not ok then error(pattern, 3) end -- the place of the script that called find, match, gmatch or gsub
  if kept >= CACHE then compiled, kept = { [true] = {}, [false] = {} }, 0 end
  if #p <= CACHE then compiled[anchors][p], kept = pattern, kept + 1 end
  return pattern
end

local function quick(pattern, n)
  local steps, power = pattern.weight, pattern.power
  for _ = 1, power do
    steps = steps * (n + 1)
    if steps > QUICK then return false end
  end
  charge(steps + n)
  return steps + n <= QUICK
end

local function plain(n, m)
  if n * m > MOST_PLAIN then
    stop("pattern", "pattern limit: the text to find and the text to search are too long")
  end
  charge(n + n * m / 16)
end

local function texts(s, p)
  return (type(s) == "string" or type(s) == "number") and (type(p) == "string" or type(p) == "number")
end

-- Where a search with the argument `init` begins in a subject of n characters.
local function start(init, n)
  init = tonumber(init) or 1
  if init < 0 then init = init + n + 1 end
  return init < 1 and 1 or init > n + 1 and n + 1 or init - init % 1
end

function library.find(s, p, init, exactly)
  if not texts(s, p) then return find(s, p, init, exactly) end -- complains
  s, p = tostring(s), tostring(p)
  local pattern = exactly and PLAIN or prepare(p, true, true)
  if pattern == PLAIN then
    plain(#s, #p)
  elseif not quick(pattern, #s) then
    return matcher.search(s, pattern, start(init, #s))
  end
  return find(s, p, init, exactly)
end

-- Captures as match gives them, from what a search gave.
local function results(s, from, to, ...)
  if not from then return nil end
  if select("#", ...) > 0 then return ... end
  return sub(s, from, to)
end

function library.match(s, p, init)
  if not texts(s, p) then return match(s, p, init) end -- complains
  s, p = tostring(s), tostring(p)
  local pattern = prepare(p, true)
  if pattern == PLAIN then
    plain(#s, #p)
  elseif not quick(pattern, #s) then
    return results(s, matcher.search(s, pattern, start(init, #s)))
  end
  return match(s, p, init)
end

function library.gmatch(s, p)
  if not texts(s, p) then return gmatch(s, p) end -- complains
  s, p = tostring(s), tostring(p)
  local pattern = prepare(p, false)
  if pattern == PLAIN then
    plain(#s, #p)
    return gmatch(s, p)
  elseif quick(pattern, #s) then
    return gmatch(s, p)
  end
  local at = 1
  local function advance(from, to, ...)
    if not from then
      at = #s + 2
      return nil
    end
    at = to < from and from + 1 or to + 1 -- an empty match must not be found again
    return results(s, from, to, ...)
  end
  return function()
    if at > #s + 1 then return nil end
    return advance(matcher.search(s, pattern, at))
  end
end

-- `%0` to `%9` in a replacement text.
local function expand(replacement, whole, ...)
  local out, n, from = {}, 0, 1
  while true do
    local mark = find(replacement, "%", from, true)
    if not mark then break end
    local c = sub(replacement, mark + 1, mark + 1)
    local piece = c == "" and "\0" or c -- what the native function finds behind the last character
    if c == "0" or c == "1" and select("#", ...) == 0 then
      piece = whole
    elseif find(c, "%d") then
      local index = tonumber(c)
      piece = select("#", ...) >= index and select(index, ...) or error("invalid capture index", 0)
    end
    out[n + 1], out[n + 2] = sub(replacement, from, mark - 1), piece
    n, from = n + 2, mark + 2
  end
  out[n + 1] = sub(replacement, from)
  return join(out, "", 1, n + 1)
end

local function replaced(s, replacement, from, to, ...)
  local whole = sub(s, from, to)
  local kind, value = type(replacement), nil
  if kind == "string" then
    value = expand(replacement, whole, ...)
  else
    local first = select("#", ...) == 0 and whole or (...)
    if kind == "table" then
      value = replacement[first]
    elseif select("#", ...) == 0 then
      value = replacement(whole)
    else
      value = replacement(...)
    end
  end
  if not value then return whole end
  if type(value) ~= "string" and type(value) ~= "number" then
    error("invalid replacement value (a " .. type(value) .. ")", 0)
  end
  return value
end

-- gsub by search(at), which gives what find gives.
local function substitute(s, replacement, most, anchored, search)
  local out, n, done, at = {}, 0, 0, 1
  local function take(from, to, ...)
    if not from then return false end
    done = done + 1
    out[n + 1], out[n + 2] = sub(s, at, from - 1), replaced(s, replacement, from, to, ...)
    n, at = n + 2, to + 1
    if to < from then -- empty: step over one character
      n = n + 1
      out[n], at = sub(s, from, from), from + 1
    end
    return true
  end
  while done < most and at <= #s + 1 and take(search(at)) do
    if anchored then break end
  end
  out[n + 1] = sub(s, at)
  return join(out, "", 1, n + 1), done
end

function library.gsub(s, p, replacement, most)
  local kind = type(replacement)
  if kind == "number" then replacement, kind = tostring(replacement), "string" end
  if not texts(s, p) or kind ~= "string" and kind ~= "table" and kind ~= "function" then
    return gsub(s, p, replacement, most) -- complains
  end
  s, p = tostring(s), tostring(p)
  local pattern = prepare(p, true)
  local native
  if pattern == PLAIN then
    plain(#s, #p)
    native = true
  else
    native = quick(pattern, #s)
  end
  if native and kind == "string" then return gsub(s, p, replacement, most) end
  most = most == nil and #s + 1 or tonumber(most) or error("bad argument #4 to 'gsub' (number expected)", 2)
  return substitute(s, replacement, most, pattern.anchored, function(at)
    if native then return find(s, p, at) end
    return matcher.search(s, pattern, at)
  end)
end

return library
