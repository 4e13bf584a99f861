-- string.find, match, gmatch and gsub. The native functions serve whenever their worst case is small;
-- everything else goes through the matcher, which the hook can stop. Functions that scripts give to gsub are
-- called from Lua, never from C.
local matcher, budget, join = ...

local find, gmatch, gsub, match = string.find, string.gmatch, string.gsub, string.match
local byte, sub = string.byte, string.sub
local charge, pcall, reserve, stop = budget.charge, budget.pcall, budget.reserve, budget.stop
local error, getmetatable, select, tonumber, tostring, type = error, debug.getmetatable, select, tonumber, tostring, type

local MOST_PLAIN = 2e9  -- bytes that a plain search may compare at worst
local FREE_PLAIN = 1e5  -- bytes that need no look at the clock
local MOST_GSUB = 4e6   -- characters that one native call may work through
local LARGE = 2 ^ 20    -- characters of a subject whose replacement may need more memory at once than is at hand
local CACHE, LONG = 500, 200 -- patterns kept; characters of one that is not

local library = {}
-- Patterns in pieces by their text: those of gmatch, which takes no anchor, are apart.
local searching, iterating = {}, {}
local lengths = {} -- of what was searched for plainly
local kept = 0     -- in all of these

local function forget()
  searching, iterating, lengths, kept = {}, {}, {}, 0
end

-- Of a pattern without a special character; to find (and to nothing else) a lone ) is none.
local function plain_pattern(p, finding)
  if not find(p, "[%^%$%*%+%?%.%(%[%%%-]") and (finding or not find(p, ")", 1, true)) then
    return { plain = #p, free = FREE_PLAIN / (#p + 1), captures = 0 }
  end
end

local function prepare(p, anchors, finding)
  local pattern = (anchors and searching or iterating)[p]
  if pattern and not (finding == false and pattern.lone) then return pattern end
  pattern = plain_pattern(p, finding)
  if pattern then
    pattern.lone = finding and find(p, ")", 1, true)
  else
    local ok
    ok, pattern = pcall(matcher.compile, p, anchors)
    if not ok then error(pattern, 3) end -- where the script called find, match, gmatch or gsub
  end
  if kept >= CACHE then forget() end
  if #p <= LONG then
    (anchors and searching or iterating)[p], kept = pattern, kept + 1
  end
  return pattern
end

-- All but the last stretch is linear: is that short?
local function ends_soon(s, p, pattern)
  return pattern.tail and pattern.window > 0 and find(s, p, -pattern.window) ~= nil
end

-- May a native function work on the subject? Otherwise the matcher must.
local function native(s, p, pattern)
  local n = #s
  if n <= pattern.free then return true end
  if pattern.plain then
    if n * pattern.plain > MOST_PLAIN then
      stop("pattern", "pattern limit: the text to find and the text to search are too long")
    end
    charge(n + n * pattern.plain / 16)
    return true
  end
  charge(n)
  return n <= pattern.quick or pattern.linear or ends_soon(s, p, pattern)
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

-- A plain search in a long text takes as long as it goes.
local function find_plain(s, p, init)
  local from, to = find(s, p, init, true)
  local passed = (to or #s) - (init or 1)
  charge(passed + passed * #p / 16)
  return from, to
end

local function find_slowly(s, p, init, exactly)
  if not texts(s, p) then return find(s, p, init, exactly) end -- complains
  s, p = tostring(s), tostring(p)
  local pattern = exactly and { plain = #p, free = 0 } or prepare(p, true, true)
  if exactly and #p <= LONG then
    if kept >= CACHE then forget() end
    lengths[p], kept = #p, kept + 1
  end
  if native(s, p, pattern) then return find(s, p, init, exactly) end
  return matcher.search(s, pattern, start(init, #s))
end

-- The usual cases first: what was searched for before, in a text.
function library.find(s, p, init, exactly)
  if exactly then
    local m = lengths[p]
    if m and type(s) == "string" then
      m = m * #s
      if m <= FREE_PLAIN then return find(s, p, init, true) end
      if m <= MOST_PLAIN and (not init or type(init) == "number") then return find_plain(s, p, init) end
    end
  else
    local pattern = searching[p]
    if pattern and type(s) == "string" and #s <= pattern.free then return find(s, p, init) end
  end
  return find_slowly(s, p, init, exactly)
end

-- Captures as match gives them, from what a search gave.
local function results(s, from, to, ...)
  if not from then return nil end
  if select("#", ...) > 0 then return ... end
  return sub(s, from, to)
end

function library.match(s, p, init)
  local pattern = searching[p]
  if pattern and type(s) == "string" and #s <= pattern.free and not pattern.lone then return match(s, p, init) end
  if not texts(s, p) then return match(s, p, init) end -- complains
  s, p = tostring(s), tostring(p)
  pattern = prepare(p, true, false)
  if native(s, p, pattern) then return match(s, p, init) end
  return results(s, matcher.search(s, pattern, start(init, #s)))
end

function library.gmatch(s, p)
  if not texts(s, p) then return gmatch(s, p) end -- complains
  s, p = tostring(s), tostring(p)
  local pattern = prepare(p, false, false)
  if native(s, p, pattern) then return gmatch(s, p) end
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

-- gsub of a pattern without captures by native search.
local function substitute_whole(s, p, replacement, most, anchored)
  local out, n, done, at, kind = {}, 0, 0, 1, type(replacement)
  while done < most and at <= #s + 1 do
    local from, to = find(s, p, at)
    if not from then break end
    local whole, value = sub(s, from, to), nil
    if kind == "function" then value = replacement(whole) else value = replaced(s, replacement, from, to) end
    if not value then
      value = whole
    elseif type(value) ~= "string" and type(value) ~= "number" then
      error("invalid replacement value (a " .. type(value) .. ")", 0)
    end
    done = done + 1
    out[n + 1], out[n + 2] = sub(s, at, from - 1), value
    n, at = n + 2, to + 1
    if to < from then -- empty: step over one character
      n = n + 1
      out[n], at = sub(s, from, from), from + 1
    end
    if anchored then break end
  end
  out[n + 1] = sub(s, at)
  return join(out, "", 1, n + 1), done
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
  local pattern = prepare(p, true, false)
  local natively = native(s, p, pattern)
  if natively and #s <= MOST_GSUB and (kind == "string" or kind == "table" and not getmetatable(replacement)) then
    if #s > LARGE then reserve(#s, 3) end
    return gsub(s, p, replacement, most)
  end
  most = most == nil and #s + 1 or tonumber(most) or error("bad argument #4 to 'gsub' (number expected)", 2)
  if natively and pattern.captures == 0 then
    return substitute_whole(s, p, replacement, most, pattern.anchored)
  end
  return substitute(s, replacement, most, pattern.anchored, function(at)
    if natively then return find(s, p, at) end
    return matcher.search(s, pattern, at)
  end)
end

return library
