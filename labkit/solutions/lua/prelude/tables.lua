-- Functions of `table` and `string` whose native forms run long without an instruction that the hook could
-- count, or that call scripts back from C (which overflows the C stack and cannot wait for a service).
local budget = ...

local concat, insert, format, rep = table.concat, table.insert, string.format, string.rep
local charge, reserve = budget.charge, budget.reserve
local error, pcall, select, tostring, type = error, pcall, select, tostring, type

local LARGE = 64 * 1024 -- bytes that need more memory at once than may be at hand
local FAR = 2 ^ 20       -- places before a table's first
local RUN = 8 -- sorted by insertion, then merged

local library = {}

local function ascending(a, b)
  return a < b
end

local function insertion(t, from, to, less)
  for i = from + 1, to do
    local v, j = t[i], i - 1
    while j >= from and less(v, t[j]) do
      t[j + 1] = t[j]
      j = j - 1
    end
    t[j + 1] = v
  end
end

local function merge(source, target, from, middle, to, less)
  local i, j = from, middle + 1
  for k = from, to do
    if j > to or i <= middle and not less(source[j], source[i]) then
      target[k] = source[i]
      i = i + 1
    else
      target[k] = source[j]
      j = j + 1
    end
  end
end

-- A stable merge sort: ends whatever the comparator answers.
function library.sort(t, less)
  if type(t) ~= "table" then error("bad argument #1 to 'sort' (table expected, got " .. type(t) .. ")", 2) end
  less = less or ascending
  local n, width = #t, RUN
  for from = 1, n, RUN do
    insertion(t, from, from + RUN - 1 < n and from + RUN - 1 or n, less)
  end
  local source, target = t, {}
  while width < n do
    for from = 1, n, 2 * width do
      local middle, to = from + width - 1, from + 2 * width - 1
      merge(source, target, from, middle < n and middle or n, to < n and to or n, less)
    end
    source, target = target, source
    width = 2 * width
  end
  if source ~= t then
    for i = 1, n do t[i] = source[i] end
  end
end

local function size(list, separator, from, to)
  local total = #separator * (to - from + 1)
  for i = from, to do
    local item = list[i]
    total = total + (type(item) == "string" and #item or 24)
  end
  return total
end

function library.concat(list, separator, from, to)
  if type(list) ~= "table" then return concat(list) end -- complains
  charge(2 * ((to or #list) - (from or 1)))
  local ok, text = pcall(concat, list, separator, from, to)
  if ok then return text end
  if text == "not enough memory" then -- a text larger than the room ahead: ask for its size
    reserve(3 * size(list, separator or "", from or 1, to or #list))
  end
  return concat(list, separator, from, to)
end

function library.insert(t, ...)
  if select("#", ...) == 2 and type(t) == "table" then
    local at = ...
    local moved = type(at) == "number" and #t - at or 0
    if moved > #t + FAR then error("bad argument #2 to 'insert' (position out of bounds)", 2) end
    if moved > 0 then charge(moved) end
  end
  return insert(t, ...)
end

local texts = {}

function texts.rep(text, n, separator)
  if type(text) == "string" and type(n) == "number" and n > 1 then
    local bytes = n * (#text + (type(separator) == "string" and #separator or 0))
    if bytes > LARGE then reserve(3 * bytes) end
  end
  return rep(text, n, separator)
end

for _, name in ipairs({ "lower", "reverse", "sub", "upper" }) do
  local native = string[name]
  texts[name] = function(text, ...)
    if type(text) == "string" and #text > LARGE then reserve(#text) end
    return native(text, ...)
  end
end

-- __tostring must not run inside of C.
local function shown(from, n, ...)
  local values = { ... }
  for i = from, n do
    if type(values[i]) == "table" then values[i] = tostring(values[i]) end
  end
  return unpack(values, 1, n)
end

function texts.format(text, ...)
  local n = select("#", ...)
  for i = 1, n do
    local value = (select(i, ...))
    if type(value) == "table" then return format(text, shown(i, n, ...)) end
    if type(value) == "string" and #value > LARGE then reserve(2 * #value) end
  end
  return format(text, ...)
end

library.texts = texts

return library
