-- Functions of `table` and `string` whose native forms run long without an instruction that the hook could
-- count, or that call scripts back from C (which overflows the C stack and cannot wait for a service).
local budget = ...

local concat, insert, format, rep = table.concat, table.insert, string.format, string.rep
local reserve = budget.reserve
local error, pcall, select, tostring, type = error, pcall, select, tostring, type

local LARGE = 64 * 1024  -- bytes that need more memory at once than may be at hand
local FAR = 2 ^ 20       -- places before a table's first
local MANY = 4096        -- items of a list that are joined at once
local RUN = 8            -- sorted by insertion, then merged

local buffer = require("string.buffer")
local new_buffer = buffer.new
local put, get = new_buffer().put, new_buffer().get

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

local function joined(list, separator, from, to)
  local ok, text = pcall(concat, list, separator, from, to)
  if ok then return text end
  if text == "not enough memory" then -- a text larger than the room ahead: ask for its size
    reserve(3 * size(list, separator, from, to))
  end
  return concat(list, separator, from, to)
end

-- A long list goes piece by piece: nothing could stop one call that takes it all.
local function joined_long(list, separator, from, to)
  local out = new_buffer()
  for i = from, to, MANY do
    local last = i + MANY - 1 < to and i + MANY - 1 or to
    local piece = joined(list, separator, i, last)
    if #out + #piece > LARGE then reserve(2 * (#out + #piece)) end
    put(out, piece)
    if last < to then put(out, separator) end
  end
  return get(out)
end

function library.concat(list, separator, from, to)
  local first, last, text = from or 1, to or type(list) == "table" and #list, separator or ""
  if type(first) ~= "number" or type(last) ~= "number" or type(text) ~= "string" then
    return concat(list, separator, from, to) -- a form that is rare, or an error
  end
  if last - first >= MANY then return joined_long(list, text, first, last) end
  return joined(list, text, first, last)
end

function library.insert(t, ...)
  if select("#", ...) == 2 and type(t) == "table" then
    local at = ...
    if type(at) == "number" and at < -FAR then
      error("bad argument #2 to 'insert' (position out of bounds)", 2)
    end
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
