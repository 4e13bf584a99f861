-- Lua patterns, matched step by step where the hook can see it. Same rules and messages as the native
-- matcher, which no hook stops: a pattern that backtracks can keep it busy for years.
local most_steps, stop, measure = ...

local byte, char, find, sub = string.byte, string.char, string.find, string.sub
local error, tonumber = error, tonumber

local DEEPEST = 200 -- nested quantifiers and captures, as in the native matcher
local MOST_CAPTURES = 32
local OPEN, POSITION = -1, -2
local LIMIT = "pattern limit: a match takes more than " .. most_steps .. " steps"

local matcher = {}
local known, kept = {}, 0 -- byte sets by source of the class

local function bytes_of(class)
  local set = known[class]
  if set then return set end
  set = {}
  if #class == 1 and class ~= "." then
    set[byte(class)] = true
  else
    for b = 0, 255 do
      if find(char(b), class) then set[b] = true end
    end
  end
  if kept >= 200 then known, kept = {}, 0 end
  known[class], kept = set, kept + 1
  return set
end

-- Where the single-character class that starts at `at` ends (the character after it).
local function class_end(p, at)
  local c = sub(p, at, at)
  if c == "%" then
    if at == #p then error("malformed pattern (ends with '%')", 0) end
    return at + 2
  elseif c == "[" then
    at = at + 1
    if sub(p, at, at) == "^" then at = at + 1 end
    repeat
      if at > #p then error("malformed pattern (missing ']')", 0) end
      at = at + (sub(p, at, at) == "%" and at < #p and 2 or 1)
    until sub(p, at, at) == "]"
  end
  return at + 1
end

local QUANTIFIERS = { ["*"] = "greedy", ["+"] = "some", ["-"] = "lazy", ["?"] = "maybe" }

local function single(p, at, items)
  local stop_at = class_end(p, at)
  local quantifier = QUANTIFIERS[sub(p, stop_at, stop_at)]
  local class = sub(p, at, stop_at - 1)
  items[#items + 1] = { op = quantifier or "one", set = bytes_of(class), class = class, run = "^" .. class .. "*" }
  return quantifier and stop_at + 1 or stop_at
end

local function escaped(p, at, items, closed)
  local c = sub(p, at + 1, at + 1)
  if c == "b" then
    if at + 3 > #p then error("malformed pattern (missing arguments to '%b')", 0) end
    items[#items + 1] = { op = "balance", open = byte(p, at + 2), close = byte(p, at + 3) }
    return at + 4
  elseif c == "f" then
    if sub(p, at + 2, at + 2) ~= "[" then error("malformed pattern (missing '[' after '%f')", 0) end
    local stop_at = class_end(p, at + 2)
    items[#items + 1] = { op = "frontier", set = bytes_of(sub(p, at + 2, stop_at - 1)) }
    return stop_at
  elseif find(c, "%d") then
    if not closed[tonumber(c)] then error("invalid capture index", 0) end
    items[#items + 1] = { op = "again", index = tonumber(c) }
    return at + 2
  end
  return single(p, at, items)
end

-- The class of the character that every match begins with; nil if that is not known.
local function beginning(items)
  for i = 1, #items do
    local op = items[i].op
    if op == "one" or op == "some" then return items[i].class end
    if op ~= "open" and op ~= "position" then return nil end
  end
end

-- The pattern in pieces; raises a text without position if it is malformed. gmatch takes no anchor.
function matcher.compile(p, anchors)
  p = sub(p, 1, (find(p, "%z") or 0) - 1) -- a pattern ends at a zero byte
  local items, closed, opened, captures = {}, {}, {}, 0
  local anchored = anchors and sub(p, 1, 1) == "^"
  local at = anchored and 2 or 1
  while at <= #p do
    local c = sub(p, at, at)
    if c == "(" then
      captures = captures + 1
      if captures > MOST_CAPTURES then error("too many captures", 0) end
      if sub(p, at + 1, at + 1) == ")" then
        items[#items + 1] = { op = "position" }
        at = at + 2
      else
        items[#items + 1] = { op = "open" }
        opened[#opened + 1] = captures
        at = at + 1
      end
    elseif c == ")" then
      if #opened == 0 then error("invalid pattern capture", 0) end
      closed[opened[#opened]] = true
      items[#items + 1] = { op = "close", index = opened[#opened] }
      opened[#opened] = nil
      at = at + 1
    elseif c == "$" and at == #p then
      items[#items + 1] = { op = "end" }
      at = at + 1
    elseif c == "%" then
      at = escaped(p, at, items, closed)
    else
      at = single(p, at, items)
    end
  end
  if #opened > 0 then error("unfinished capture", 0) end
  local pattern = { items = items, anchored = anchored, beginning = beginning(items), captures = captures }
  measure(pattern)
  if pattern.skips then pattern.here = "^" .. p end
  return pattern
end

-- Matching.

local match

local function count(m, steps)
  m.steps = m.steps + steps
  if m.steps > most_steps then
    stop("pattern", LIMIT)
  end
end

local function longest(m, i, k, depth, item)
  local _, j = find(m.s, item.run, i)
  j = j + 1
  count(m, j - i)
  while j >= i do
    local stop_at = match(m, j, k + 1, depth)
    if stop_at then return stop_at end
    j = j - 1
  end
end

local function shortest(m, i, k, depth, set)
  local s = m.s
  while true do
    local stop_at = match(m, i, k + 1, depth)
    if stop_at then return stop_at end
    if not set[byte(s, i)] then return nil end
    i = i + 1
  end
end

local function balance(m, i, item)
  local s, depth = m.s, 1
  if byte(s, i) ~= item.open then return nil end
  for j = i + 1, m.n do
    local c = byte(s, j)
    if c == item.close then
      depth = depth - 1
      if depth == 0 then
        count(m, j - i)
        return j + 1
      end
    elseif c == item.open then
      depth = depth + 1
    end
  end
  count(m, m.n - i)
end

local function open(m, i, k, depth, mark)
  local level = m.level + 1
  m.level, m.from[level], m.length[level] = level, i, mark
  local stop_at = match(m, i, k + 1, depth)
  if not stop_at then m.level = level - 1 end
  return stop_at
end

local function close(m, i, k, depth, index)
  m.length[index] = i - m.from[index]
  local stop_at = match(m, i, k + 1, depth)
  if not stop_at then m.length[index] = OPEN end
  return stop_at
end

-- Items that take a fixed stretch: where they end, or nil.
local function fixed(m, i, item, op)
  if op == "end" then return i == m.n + 1 and i or nil end
  if op == "balance" then return balance(m, i, item) end
  if op == "frontier" then
    local set = item.set
    return not set[i > 1 and byte(m.s, i - 1) or 0] and set[byte(m.s, i) or 0] and i or nil
  end
  local from, length = m.from[item.index], m.length[item.index] -- again
  count(m, length)
  return sub(m.s, from, from + length - 1) == sub(m.s, i, i + length - 1) and i + length or nil
end

match = function(m, i, k, depth)
  if depth > DEEPEST then error("pattern too complex", 0) end
  depth = depth + 1
  local items, s = m.items, m.s
  while true do
    local item = items[k]
    if not item then return i end
    count(m, 1)
    local op, set = item.op, item.set
    if op == "one" then
      if not set[byte(s, i)] then return nil end
      i = i + 1
    elseif op == "greedy" then
      return longest(m, i, k, depth, item)
    elseif op == "some" then
      if not set[byte(s, i)] then return nil end
      return longest(m, i + 1, k, depth, item)
    elseif op == "lazy" then
      return shortest(m, i, k, depth, set)
    elseif op == "maybe" then
      local stop_at = set[byte(s, i)] and match(m, i + 1, k + 1, depth)
      if stop_at then return stop_at end
    elseif op == "open" then
      return open(m, i, k, depth, OPEN)
    elseif op == "position" then
      return open(m, i, k, depth, POSITION)
    elseif op == "close" then
      return close(m, i, k, depth, item.index)
    else
      i = fixed(m, i, item, op)
      if not i then return nil end
    end
    k = k + 1
  end
end

local function captures(m, level)
  if level > m.level then return end
  local from, length = m.from[level], m.length[level]
  if length == POSITION then return from, captures(m, level + 1) end
  return sub(m.s, from, from + length - 1), captures(m, level + 1)
end

-- What an attempt at `at` gave, or the first one after it. Where a loop at the beginning found nothing to go on with, no
-- match begins in the stretch that it went over.
local function skipping(s, pattern, at, from, ...)
  if from then return from, ... end
  local _, stop_at = find(s, pattern.skips, at)
  at = stop_at + 2
  if at > #s + 1 then return nil end
  return skipping(s, pattern, at, find(s, pattern.here, at))
end

-- The first match at or after `at`: its start, its end, and its captures if there are any; nil if there is
-- none.
function matcher.search(s, pattern, at)
  if pattern.here then return skipping(s, pattern, at, find(s, pattern.here, at)) end
  local m = { s = s, n = #s, items = pattern.items, steps = 0, from = {}, length = {} }
  local class, last = not pattern.anchored and pattern.beginning, pattern.anchored and at or m.n + 1
  local i = at
  while i <= last do
    if class then -- on to where there can be one
      i = find(s, class, i)
      if not i then return nil end
    end
    m.level = 0
    local stop_at = match(m, i, 1, 0)
    if stop_at then return i, stop_at - 1, captures(m, 1) end
    i = i + 1
  end
  return nil
end

return matcher
