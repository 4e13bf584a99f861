-- Functions of `table` and `string` whose native forms run long without an instruction that the hook could
-- count, or that call scripts back from C (which overflows the C stack and cannot wait for a service).
local budget = ...

local concat, insert, format, rep = table.concat, table.insert, string.format, string.rep
local find, gmatch, gsub = string.find, string.gmatch, string.gsub
local charge, reserve = budget.charge, budget.reserve
local error, floor, pcall, select, tostring, type = error, math.floor, pcall, select, tostring, type

local LARGE = 1024 * 1024 -- bytes that may need more memory at once than is at hand, and time
local LONG = 4096        -- bytes that take a time worth counting
local FAR = 2 ^ 20       -- places before a table's first
local SHORT, CACHE = 200, 500 -- formats that are remembered: their characters, and how many
local MANY = 4096        -- items of a list that are joined at once
local INVALID = "invalid order function for sorting"

local buffer = require("string.buffer")
local new_buffer = buffer.new
local put, get = new_buffer().put, new_buffer().get

local library = {}

-- Quicksort as Lua 5.1 does it: the same comparisons in the same order, so that equal items come out as they do there
-- and an order that contradicts itself is found out.
local function partition_by(t, low, high, pivot, less)
  local i, j = low, high - 1
  while true do
    i = i + 1
    while less(t[i], pivot) do
      if i >= high then error(INVALID, 0) end
      i = i + 1
    end
    j = j - 1
    while less(pivot, t[j]) do
      if j <= low then error(INVALID, 0) end
      j = j - 1
    end
    if j < i then return i end
    t[i], t[j] = t[j], t[i]
  end
end

-- The same by `<`: a function would cost twice the time.
local function partition(t, low, high, pivot)
  local i, j = low, high - 1
  while true do
    i = i + 1
    while t[i] < pivot do
      if i >= high then error(INVALID, 0) end
      i = i + 1
    end
    j = j - 1
    while pivot < t[j] do
      if j <= low then error(INVALID, 0) end
      j = j - 1
    end
    if j < i then return i end
    t[i], t[j] = t[j], t[i]
  end
end

local function ordered(a, b, less)
  if less then return less(a, b) end
  return a < b
end

local function sort(t, low, high, less)
  while low < high do
    if ordered(t[high], t[low], less) then t[low], t[high] = t[high], t[low] end
    if high - low == 1 then return end
    local middle = floor((low + high) / 2)
    if ordered(t[middle], t[low], less) then
      t[middle], t[low] = t[low], t[middle]
    elseif ordered(t[high], t[middle], less) then
      t[middle], t[high] = t[high], t[middle]
    end
    if high - low == 2 then return end
    local pivot = t[middle]
    t[middle], t[high - 1] = t[high - 1], t[middle]
    middle = (less and partition_by or partition)(t, low, high, pivot, less)
    t[high - 1], t[middle] = t[middle], t[high - 1]
    if middle - low < high - middle then
      sort(t, low, middle - 1, less)
      low = middle + 1
    else
      sort(t, middle + 1, high, less)
      high = middle - 1
    end
  end
end

function library.sort(t, less)
  if type(t) ~= "table" then error("bad argument #1 to 'sort' (table expected, got " .. type(t) .. ")", 2) end
  if less ~= nil and type(less) ~= "function" then
    error("bad argument #2 to 'sort' (function expected, got " .. type(less) .. ")", 2)
  end
  sort(t, 1, #t, less)
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
    reserve(size(list, separator, from, to), 3)
  end
  return concat(list, separator, from, to)
end

-- A long list goes piece by piece: nothing could stop one call that takes it all.
local function joined_long(list, separator, from, to)
  local out = new_buffer()
  for i = from, to, MANY do
    local last = i + MANY - 1 < to and i + MANY - 1 or to
    local piece = joined(list, separator, i, last)
    if #out + #piece > LARGE then reserve(#out + #piece, 2) end
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

function library.insert(t, at, ...)
  if type(at) ~= "number" or at >= -FAR or select("#", ...) == 0 or type(t) ~= "table" then
    return insert(t, at, ...)
  end
  error("bad argument #2 to 'insert' (position out of bounds)", 2)
end

local texts = {}

function texts.rep(text, n, separator)
  if type(text) == "string" and type(n) == "number" and n > 1 then
    local bytes = n * (#text + (type(separator) == "string" and #separator or 0))
    if bytes > LARGE then reserve(bytes, 3) end
    if bytes > LONG then charge(bytes) end
  end
  return rep(text, n, separator)
end

for _, name in ipairs({ "lower", "reverse", "upper" }) do
  local native = string[name]
  texts[name] = function(text)
    if type(text) == "string" and #text > LONG then
      if #text > LARGE then reserve(#text, 1) end
      charge(#text)
    end
    return native(text)
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

local function format_all(text, ...)
  local n = select("#", ...)
  for i = 1, n do
    local value = (select(i, ...))
    if type(value) == "table" then return format(text, shown(i, n, ...)) end
    if type(value) == "string" and #value > LONG then
      if #value > LARGE then reserve(#value, 2) end
      charge(#value)
    end
  end
  return format(text, ...)
end

-- Which argument of a format may be a text that is long or a table that shows itself: its number, 0 for none, -1 for
-- several.
local shows, kept = {}, 0

local function shown_by(text)
  local number, found = 0, 0
  for conversion in gmatch(gsub(text, "%%%%", ""), "%%[^%a%%]*(%a?)") do
    number = number + 1
    if not find(conversion, "[cdiouxXaAeEfgG]") then found = found == 0 and number or -1 end
  end
  return found
end

function texts.format(text, ...)
  local number = shows[text]
  if number == 0 then return format(text, ...) end
  if number == 1 or number == 2 then -- the usual case
    local value, second = ...
    if number == 2 then value = second end
    local kind = type(value)
    if kind == "number" or kind == "string" and #value <= LONG then return format(text, ...) end
  elseif not number and type(text) == "string" and #text <= SHORT then
    if kept >= CACHE then shows, kept = {}, 0 end
    shows[text], kept = shown_by(text), kept + 1
  end
  return format_all(text, ...)
end

library.texts = texts

return library
