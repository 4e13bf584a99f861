-- What a pattern may cost the native matcher, which no hook stops, on a subject of n characters.
--
-- power, weight  a search takes at most weight * (n + 1)^power steps
-- linear         all matches in a subject together take at most weight * (n + 1) steps
-- tail           so they do, but for the stretch behind the last match
-- light          it is one of these, and a search takes less than the instructions that lead to it might take, each of
--                which may copy the whole subject: the hook's own bound is enough
-- skips          the native matcher can serve where it is asked at one place at a time
-- free, quick    the longest subjects of which a search takes nothing worth a look at the clock, and little enough for
--                one native call; window: the longest stretch behind the last match that does not matter
local floor, huge = math.floor, math.huge

local FREE, QUICK, WINDOW = 1e4, 2e6, 1e5 -- steps, 2 to 5 ns each

local LIGHT, LIGHT_TAIL = 2, 32 -- weight
local HEAVY = 1000 -- steps of one attempt, beside loops: each optional item doubles them

local MARKS = { open = true, close = true, position = true }
local LOOPS = { greedy = true, some = true, lazy = true }
local LONG = { greedy = true, some = true, lazy = true, balance = true, again = true }
local NOTHING = {} -- follows: the rest cannot fail

local function apart(a, b)
  for i = 0, 255 do
    if a[i] and b[i] then return false end
  end
  return true
end

local function complete(a, b)
  for i = 0, 255 do
    if not a[i] and not b[i] then return false end
  end
  return true
end

-- The bytes that what follows item k may begin with; NOTHING if it cannot fail; nil if that is not known.
local function follows(items, k)
  local bytes = {}
  for i = k + 1, #items do
    local item = items[i]
    local op, set = item.op, item.set
    if op == "end" then return bytes end
    if op == "frontier" or op == "again" then return nil end
    if op == "balance" then
      bytes[item.open] = true
      return bytes
    end
    if not MARKS[op] then
      for b in next, set do bytes[b] = true end
      if op == "one" or op == "some" then return bytes end
    end
  end
  return NOTHING
end

local function loop_follows(items, k)
  for i = k + 1, #items do
    if LONG[items[i].op] then return true end
  end
  return false
end

-- An attempt tries what follows a loop at each place that the loop can end at. Where at most one of these can go on,
-- what follows is tried once, so the loops' lengths add up; otherwise they multiply.
local function attempt(items)
  local weight, sums, products = 1, 0, 0
  for k = 1, #items do
    local item = items[k]
    weight = (weight + 1) * (item.op == "maybe" and 2 or 1)
    if item.op == "balance" or item.op == "again" then
      sums = 1
    elseif LOOPS[item.op] then
      local bytes = follows(items, k)
      if bytes == NOTHING or bytes and apart(item.set, bytes) or not loop_follows(items, k) then
        sums = 1
      else
        products = products + 1
      end
    end
  end
  return weight, products + sums
end

-- Does an attempt that fails take but a few steps, and one that succeeds no more than it matched?
local function is_linear(items)
  for k = 1, #items do
    local op = items[k].op
    if LONG[op] then return LOOPS[op] and follows(items, k) == NOTHING end
  end
  return true
end

local function next_item(items, k)
  repeat k = k + 1 until not items[k] or not MARKS[items[k].op]
  return items[k], k
end

local EMPTY = {}

-- Is the pattern a row of loops, each up to a character that ends it, so that an attempt can only fail at the end of
-- the subject?
local function is_tail(items)
  local item, k = next_item(items, 0)
  if not item or not LOOPS[item.op] then return false end
  local first = true
  while item and LOOPS[item.op] and (first or item.op ~= "some") do
    if item.op == "lazy" and complete(item.set, EMPTY) and not loop_follows(items, k) then
      for i = k + 1, #items do
        if items[i].op == "end" or items[i].op == "frontier" then return false end
      end
      return true
    end
    local up_to
    up_to, k = next_item(items, k)
    if not up_to or up_to.op ~= "one" or not complete(item.set, up_to.set) then return false end
    if item.op ~= "lazy" and not apart(item.set, up_to.set) then return false end
    item, k = next_item(items, k)
    first = false
  end
  return not item
end

-- The pattern of the stretch in which no other match begins if none begins where it does: that of a loop that comes
-- first, unless what follows asks what was captured.
local function skips(items)
  local item = next_item(items, 0)
  if not item or not LOOPS[item.op] then return nil end
  for i = 1, #items do
    if items[i].op == "again" then return nil end
  end
  return item.run
end

local function longest(steps, pattern)
  if pattern.weight > steps then return -1 end
  if pattern.power == 0 then return huge end
  return floor((steps / pattern.weight) ^ (1 / pattern.power)) - 1
end

return function(pattern)
  local items = pattern.items
  pattern.weight, pattern.power = attempt(items)
  local light = pattern.weight <= HEAVY
  pattern.linear = light and is_linear(items)
  if not pattern.anchored then
    pattern.tail = light and is_tail(items)
    pattern.skips = light and pattern.power <= 1 and skips(items)
    pattern.power = pattern.linear and 1 or pattern.power + 1
  end
  pattern.light = pattern.weight <= (pattern.tail and LIGHT_TAIL or pattern.linear and LIGHT or -1)
  pattern.free, pattern.quick = longest(FREE, pattern), longest(QUICK, pattern)
  pattern.window = longest(WINDOW, pattern)
  if pattern.light and pattern.linear then pattern.free = huge end
  return pattern
end
