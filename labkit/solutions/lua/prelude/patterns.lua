-- string.find, match, gmatch and gsub. The native functions serve whenever their worst case is small;
-- everything else goes through the matcher, which the hook can stop. Functions that scripts give to gsub are
-- called from Lua, never from C.
--
-- What a call costs beside the native one is mostly the instructions that it runs here, so each function tries the
-- usual cases first: a pattern that was judged before, in a text.
local matcher, budget, join = ...

local find, gmatch, gsub, match = string.find, string.gmatch, string.gsub, string.match
local search, sub = matcher.search, string.sub
local charge, pcall, reserve, stop = budget.charge, budget.pcall, budget.reserve, budget.stop
local error, getmetatable, select, tonumber, tostring, type = error, debug.getmetatable, select, tonumber, tostring, type
local huge = math.huge

local MOST_PLAIN = 2e9  -- bytes that a plain search may compare at worst
local FREE_PLAIN = 1e5  -- bytes that need no look at the clock
local MOST_GSUB = 4e6   -- characters that one native call may work through
local FREE_GSUB = 1e4   -- of which a call takes nothing worth a look at the clock
local LARGE = 2 ^ 20    -- characters of a subject whose replacement may need more memory at once than is at hand
local CACHE, LONG = 500, 200 -- patterns kept; characters of one that is not
local SHORT = 16        -- of what is searched for plainly: see below

local SPECIAL = "[%z%^%$%*%+%?%.%(%)%[%%%-]"
local SIMPLE = 50       -- characters of a pattern that is not near the native matcher's own limits
local TOO_LONG = "pattern limit: the text to find and the text to search are too long"

local library = {}
-- Patterns in pieces by their text: those of gmatch, which takes no anchor, are apart.
local searching, iterating = {}, {}
-- A plain search for something short takes less than the instructions that lead to it, each of which might copy the
-- whole text, so the hook's own bound is enough: of such texts those without a special character, and all others, which
-- are patterns unless they are to be searched for plainly.
local ordinary, special = {}, {}
local easy = {} -- the patterns for which that is so of any text
local kept = 0 -- in all of these
local asked, asked_with -- a long text whose last stretch is short for a pattern

local function forget_text()
  asked, asked_with = nil, nil
end

local function forget()
  searching, iterating, ordinary, special, easy, kept = {}, {}, {}, {}, {}, 0
end

local function count()
  if kept >= CACHE then forget() end
  kept = kept + 1
end

-- Of a pattern without a special character; to find (and to nothing else) a lone ) is none.
local function plain_pattern(p, finding)
  if not find(p, "[%^%$%*%+%?%.%(%[%%%-]") and (finding or not find(p, ")", 1, true)) then
    return { plain = #p, free = FREE_PLAIN / (#p + 1), quick = -1, captures = 0 }
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
  if #p <= LONG then
    count();
    (anchors and searching or iterating)[p] = pattern
    if anchors and pattern.free == huge then easy[p] = true end
  end
  return pattern
end

-- All but the last stretch is linear: is that short? The text that was asked about last is remembered, since a script
-- that goes through one asks for each of its lines.
local function ends_soon(s, p, pattern)
  if not pattern.tail or pattern.window <= 0 or not find(s, p, -pattern.window) then return false end
  asked, asked_with = s, pattern
  return true
end

-- May a native function work on the subject? Otherwise the matcher must.
local function native(s, p, pattern)
  local n = #s
  if n <= pattern.free then return true end
  if pattern.plain then
    if n * pattern.plain > MOST_PLAIN then
      stop("pattern", TOO_LONG)
    end
    charge(n + n * pattern.plain / 16)
    return true
  end
  if n <= pattern.quick then
    charge(pattern.weight * (n + 1) ^ pattern.power)
    return true
  end
  charge(n)
  return pattern.linear or ends_soon(s, p, pattern)
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

-- What a native search gave that took `dear` units for each character it passed.
local function passed(s, init, dear, from, to, ...)
  local n = (to or #s) - start(init, #s)
  if n > 0 then charge(n * dear) end
  if not from then return nil end -- one value, as the native ones
  return from, to, ...
end

local function find_plainly(s, p, init)
  local m = #p
  if m <= SHORT then
    count();
    (find(p, SPECIAL) and special or ordinary)[p] = true
  end
  if #s * m > MOST_PLAIN then stop("pattern", TOO_LONG) end
  return passed(s, init, 1 + m / 16, find(s, p, init, true))
end

local function find_slowly(s, p, init, exactly)
  if not texts(s, p) then return find(s, p, init, exactly) end -- complains
  s, p = tostring(s), tostring(p)
  if exactly then return find_plainly(s, p, init) end
  local pattern = prepare(p, true, true)
  if pattern.plain and #p <= SHORT and not find(p, SPECIAL) then
    count()
    ordinary[p] = true
  end
  if native(s, p, pattern) then return find(s, p, init) end
  return search(s, pattern, start(init, #s))
end

function library.find(s, p, init, exactly)
  if ordinary[p] or (exactly and special or easy)[p] then return find(s, p, init, exactly) end
  local pattern = not exactly and searching[p]
  if pattern and type(s) == "string" then
    local known = s == asked and pattern == asked_with
    if #s <= pattern.free or known and pattern.light then return find(s, p, init) end
    if #s <= pattern.quick then
      charge(pattern.weight * (#s + 1) ^ pattern.power)
      return find(s, p, init)
    end
    if known or pattern.linear then return passed(s, init, pattern.weight, find(s, p, init)) end
    if pattern.here and not pattern.tail then
      return passed(s, init, pattern.weight, search(s, pattern, start(init, #s)))
    end
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
  if easy[p] then return match(s, p, init) end
  local pattern = searching[p]
  if pattern and type(s) == "string" and not pattern.lone then
    local known = s == asked and pattern == asked_with
    if #s <= pattern.free or known and pattern.light then return match(s, p, init) end
    if #s <= pattern.quick then
      charge(pattern.weight * (#s + 1) ^ pattern.power)
      return match(s, p, init)
    end
    if known or pattern.linear then
      return results(s, passed(s, init, pattern.weight, find(s, p, init)))
    end
    if pattern.here and not pattern.tail then
      return results(s, passed(s, init, pattern.weight, search(s, pattern, start(init, #s))))
    end
  end
  if not texts(s, p) then return match(s, p, init) end -- complains
  s, p = tostring(s), tostring(p)
  pattern = prepare(p, true, false)
  if native(s, p, pattern) then return match(s, p, init) end
  return results(s, search(s, pattern, start(init, #s)))
end

function library.gmatch(s, p)
  local pattern = iterating[p]
  if pattern and type(s) == "string" and #s <= pattern.free then return gmatch(s, p) end
  if not texts(s, p) then return gmatch(s, p) end -- complains
  s, p = tostring(s), tostring(p)
  pattern = prepare(p, false, false)
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
    return advance(search(s, pattern, at))
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

-- Where a match is, and what replaces it; false or nil: itself.
local function replaced(s, replacement, kind, captures, from, to, first, ...)
  if not from then return nil end
  if captures == 0 then first = sub(s, from, to) end
  if kind == "function" then
    if captures > 1 then return from, to, (replacement(first, ...)) end
    return from, to, (replacement(first))
  end
  if kind == "table" then return from, to, replacement[first] end
  if captures == 0 then return from, to, expand(replacement, first) end
  return from, to, expand(replacement, sub(s, from, to), first, ...)
end

-- gsub by search(s, pattern, at), which gives what find gives.
local function substitute(s, replacement, kind, most, pattern, search, p)
  local captures, anchored = pattern.captures, pattern.anchored
  local out, n, done, at, copied = nil, 0, 0, 1, 1 -- copied: where begins what is not in `out` yet
  while done < most and at <= #s + 1 do
    local from, to, value = replaced(s, replacement, kind, captures, search(s, p, at))
    if not from then break end
    done = done + 1
    if value then
      if type(value) ~= "string" and type(value) ~= "number" then
        error("invalid replacement value (a " .. type(value) .. ")", 0)
      end
      out = out or { "", "", "", "", "", "", "" } -- room for what is usual
      out[n + 1], out[n + 2] = sub(s, copied, from - 1), value
      n, copied = n + 2, to + 1
    end
    at = to < from and from + 1 or to + 1 -- an empty match must not be found again
    if anchored then break end
  end
  if n == 0 then return s, done end
  out[n + 1] = sub(s, copied)
  return join(out, "", 1, n + 1), done
end

-- The pattern that gives where a match begins, the match itself or its capture, and where it ends; false if there is none.
-- One call of gmatch then does for two or three others.
local function locate(p, pattern)
  local before = pattern.captures == 0 and "()(" or "()"
  local after = pattern.captures == 0 and ")()" or "()"
  local simple = pattern.captures <= 1 and not pattern.anchored and not find(p, "%z") and not find(p, "%$$")
  if not simple or p == "" or #p > SIMPLE or find(p, "%%1") then return false end
  local located = before .. p .. after
  return { p = located, free = matcher.compile(located, false).free }
end

-- gsub by a function, of a located pattern.
local function substitute_located(s, p, replacement)
  local out, n, done, copied = nil, 0, 0, 1
  for from, first, after in gmatch(s, p) do
    local value = replacement(first)
    done = done + 1
    if value then
      if type(value) ~= "string" and type(value) ~= "number" then
        error("invalid replacement value (a " .. type(value) .. ")", 0)
      end
      out = out or { "", "", "", "", "", "", "" } -- room for what is usual
      out[n + 1], out[n + 2] = sub(s, copied, from - 1), value
      n, copied = n + 2, after
    end
  end
  if n == 0 then return s, done end
  out[n + 1] = sub(s, copied)
  return join(out, "", 1, n + 1), done
end

local function substitute_slowly(s, p, replacement, most, kind)
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
  if natively then return substitute(s, replacement, kind, most, pattern, find, p) end
  return substitute(s, replacement, kind, most, pattern, search, pattern)
end

function library.gsub(s, p, replacement, most)
  local pattern, kind = searching[p], type(replacement)
  if pattern and type(s) == "string" and not pattern.lone then
    if kind == "string" then
      if #s <= pattern.free and #s <= FREE_GSUB then return gsub(s, p, replacement, most) end
    elseif kind == "function" and not most then
      local located = pattern.located
      if located == nil then
        located = locate(p, pattern)
        pattern.located = located
      end
      if located and #s <= located.free then return substitute_located(s, located.p, replacement) end
    end
  end
  return substitute_slowly(s, p, replacement, most, kind)
end

return library, forget_text
