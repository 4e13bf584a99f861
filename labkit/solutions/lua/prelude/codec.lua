-- JSON, for scripts (to_json, from_json) and for what crosses to Python, and reading what Python sends.
-- Metatables are never asked, so no code of a script runs here; keys come sorted, so that the same table
-- gives the same text in every process.
--
-- A list is a table whose metatable holds __type = "slice", or one with the keys 1..n and no others; an empty
-- table is an object, unless a script says so: setmetatable({}, {__type = "slice"}) is []. null in a list leaves a hole at its place; the list's metatable keeps the length then.
local sort, join, budget, most_depth, most_bytes = ...

local byte, char, find, sub = string.byte, string.char, string.find, string.sub
local format, gsub = string.format, string.gsub
local floor, huge, native_sort = math.floor, math.huge, table.sort
local long = require("string.buffer").new()
local reset, put, get, free = long.reset, long.put, long.get, long.free
local getmetatable, setmetatable = debug.getmetatable, setmetatable
local new_table = require("table.new")
local error, next, rawget, protected = error, next, rawget, budget.pcall
local tonumber, tostring, type = tonumber, tostring, type

local SHOWN = 1e14    -- whole numbers below are shown with all their digits
local EXACT = 2 ^ 53  -- whole numbers up to here are exact
local FEW = 50        -- keys that the native sort may take, out of sight of the hook
local PIECES = 1000
local LARGE, GROWTH = 4096, 64 -- what arrives with more bytes than this may need so many times as much memory
local SHORT, NAMES = 40, 1000 -- names that are kept in their encoded form

local codec = {}

-- Encoding.

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }
for i = 0, 31 do
  ESCAPES[char(i)] = ESCAPES[char(i)] or format("\\u%04x", i)
end

local function escaped(text)
  if find(text, '[%c"\\]') then return (gsub(text, '[%z\1-\31"\\]', ESCAPES)) end
  return text
end

local function quote(text)
  return '"' .. escaped(text) .. '"'
end

local function number(value, lenient)
  if value == floor(value) and value >= -EXACT and value <= EXACT then return format("%.0f", value + 0) end
  if value ~= value or value == huge or value == -huge then
    if not lenient then error("cannot encode a number that is not finite", 0) end
    return value ~= value and "NaN" or value > 0 and "Infinity" or "-Infinity"
  end
  local text = format("%.15g", value)
  if tonumber(text) ~= value then text = format("%.17g", value) end
  -- To Python a whole number this large is no exact one, so it goes as a float.
  return lenient and find(text, "^-?%d+$") and text .. ".0" or text
end

-- The length of a list; nil for an object.
local function length(t)
  local n, meta = #t, getmetatable(t)
  if meta and rawget(meta, "__type") == "slice" then
    local kept = rawget(meta, "__length")
    return type(kept) == "number" and kept > n and kept or n
  end
  if n == 0 then return nil end
  local count = 0
  for key in next, t do
    if type(key) ~= "number" then return nil end
    count = count + 1
  end
  return count == n and n or nil
end

-- Keys as text in order, and for keys that are numbers the key itself.
local function names(t)
  local list, n, numbers = {}, 0, nil
  for key in next, t do
    local kind = type(key)
    if kind == "number" then
      local text = number(key, true)
      numbers = numbers or {}
      numbers[text], key = key, text
    elseif kind ~= "string" then
      error("cannot encode a table with a key that is a " .. kind, 0)
    end
    n = n + 1
    list[n] = key
  end
  if n > FEW then sort(list) elseif n > 1 then native_sort(list) end
  return list, n, numbers
end

-- What stands before a value: the first key of an object, and further ones.
local first_names, more_names, kept = {}, {}, 0

local function lead(known, mark, name)
  local text = mark .. quote(name) .. ":"
  if #name <= SHORT then
    if kept >= NAMES then first_names, more_names, kept = {}, {}, 0 end
    known[name], kept = text, kept + 1
  end
  return text
end

-- Everything is put into `long`. Its size is looked at now and then, and before a text that is long by itself.
local pieces = 0

local function look_at_size(more)
  pieces = 0
  if #long + more > most_bytes then error("cannot encode so large a value", 0) end
end

local function put_text(before, text)
  if #text > LARGE then look_at_size(#text) end
  put(long, before, '"', escaped(text), '"')
end

local encode

local function encode_list(t, n, depth, lenient)
  if n == 0 then return put(long, "[]") end
  for i = 1, n do
    put(long, i == 1 and "[" or ",")
    encode(rawget(t, i), depth, lenient)
  end
  put(long, "]")
end

local function encode_object(t, depth, lenient)
  local list, n, numbers = names(t)
  if n == 0 then return put(long, "{}") end
  pieces = pieces + n
  for i = 1, n do
    local name = list[i]
    local before
    if i == 1 then
      before = first_names[name] or lead(first_names, "{", name)
    else
      before = more_names[name] or lead(more_names, ",", name)
    end
    local key = numbers and numbers[name]
    if key == nil then key = name end
    local value = rawget(t, key)
    if type(value) == "string" then -- as most are: in one piece with what stands before it
      put_text(before, value)
    else
      put(long, before)
      encode(value, depth, lenient)
    end
  end
  put(long, "}")
end

encode = function(value, depth, lenient)
  local kind = type(value)
  pieces = pieces + 1
  if pieces > PIECES then look_at_size(0) end
  if kind == "string" then
    put_text("", value)
  elseif kind == "number" then
    if value % 1 == 0 and value < SHOWN and value > -SHOWN then
      put(long, value + 0) -- no -0
    else
      put(long, number(value, lenient))
    end
  elseif kind == "boolean" then
    put(long, value and "true" or "false")
  elseif kind == "nil" then
    put(long, "null")
  elseif kind == "table" then
    if depth >= most_depth then error("cannot encode a table nested too deeply, or in itself", 0) end
    local n = length(value)
    if n then return encode_list(value, n, depth + 1, lenient) end
    encode_object(value, depth + 1, lenient)
  else
    error("cannot encode a " .. kind, 0)
  end
end

local function encoded(value, lenient)
  reset(long)
  encode(value, 0, lenient)
  look_at_size(0)
  local size = #long
  if size > LARGE then
    budget.reserve(size, 2)
    local text = get(long)
    free(long)
    return text
  end
  return get(long)
end

-- The text, or nil and the reason. With `lenient`, numbers that are not finite are taken.
function codec.encode(value, lenient)
  local ok, text = protected(encoded, value, lenient)
  if ok then return text end
  return nil, text
end

-- Decoding.

local SLICE = { __type = "slice" }
local UNESCAPES = { ['"'] = '"', ["\\"] = "\\", ["/"] = "/" }
UNESCAPES.b, UNESCAPES.f, UNESCAPES.n, UNESCAPES.r, UNESCAPES.t = "\b", "\f", "\n", "\r", "\t"

SLICE.__tostring = function(list)
  return codec.encode(list, true) or "[...]"
end

local function fail(text, at)
  local found = at > #text and "the end" or "'" .. sub(text, at, at) .. "'"
  error("invalid JSON: unexpected " .. found .. " at character " .. at, 0)
end

local function after_space(text, at)
  local c = byte(text, at)
  if c and c <= 32 then return find(text, "[^ \n\r\t]", at) or #text + 1 end
  return at
end

local function utf8(point)
  if point < 0x80 then return char(point) end
  local last = char(0x80 + point % 64)
  point = floor(point / 64)
  if point < 0x20 then return char(0xC0 + point) .. last end
  last = char(0x80 + point % 64) .. last
  point = floor(point / 64)
  if point < 0x10 then return char(0xE0 + point) .. last end
  return char(0xF0 + floor(point / 64), 0x80 + point % 64) .. last
end

-- One escape, after its backslash at `at`; gives the text it stands for and where it ends.
local function unescape(text, at)
  local name = sub(text, at + 1, at + 1)
  if UNESCAPES[name] then return UNESCAPES[name], at + 2 end
  local digits = find(text, "^u%x%x%x%x", at + 1) and sub(text, at + 2, at + 5) or fail(text, at + 1)
  local point, stop = tonumber(digits, 16), at + 6
  if point >= 0xD800 and point < 0xDC00 and find(text, "^\\u[dD][c-fC-F]%x%x", stop) then
    point = 0x10000 + (point - 0xD800) * 1024 + tonumber(sub(text, stop + 2, stop + 5), 16) - 0xDC00
    stop = stop + 6
  end
  return utf8(point), stop
end

-- The string that starts after the quote at `at`, and where it ends.
local function text_at(text, at)
  local from = at + 1
  local stop = find(text, '[%z\1-\31"\\]', from) or fail(text, #text + 1)
  if byte(text, stop) == 34 then return sub(text, from, stop - 1), stop + 1 end
  local out, n = {}, 0
  while byte(text, stop) ~= 34 do
    if byte(text, stop) ~= 92 then fail(text, stop) end
    out[n + 1] = sub(text, from, stop - 1)
    out[n + 2], from = unescape(text, stop)
    n = n + 2
    stop = find(text, '[%z\1-\31"\\]', from) or fail(text, #text + 1)
  end
  out[n + 1] = sub(text, from, stop - 1)
  return join(out, "", 1, n + 1), stop + 1
end

local function number_at(text, at, exact)
  local _, stop = find(text, "^-?%d+", at)
  if not stop or find(text, "^-?0%d", at) then fail(text, at) end
  local whole = stop
  if byte(text, stop + 1) == 46 then
    _, stop = find(text, "^%d+", stop + 2)
    if not stop then fail(text, whole + 2) end
  end
  if find(text, "^[eE]", stop + 1) then
    local mark = stop
    _, stop = find(text, "^[eE][+-]?%d+", stop + 1)
    if not stop then fail(text, mark + 2) end
  end
  local digits = sub(text, at, stop)
  local value = tonumber(digits)
  local inexact = stop == whole and (value > EXACT or value < -EXACT)
  return exact and inexact and digits or value, stop + 1
end

local WORDS = { t = { "true", true }, f = { "false", false }, n = { "null", nil } }
WORDS.N, WORDS.I = { "NaN", huge - huge }, { "Infinity", huge } -- of Python alone

local function word_at(text, at, exact)
  local first = sub(text, at, at)
  local word = WORDS[first]
  if not word or (first == "N" or first == "I") and not exact then fail(text, at) end
  local stop = at + #word[1]
  if sub(text, at, stop - 1) ~= word[1] then fail(text, at) end
  return word[2], stop
end

local decode

local function list_at(text, at, exact, depth)
  local list, n, holes = {}, 0, false
  at = after_space(text, at + 1)
  if byte(text, at) == 93 then return setmetatable(list, SLICE), at + 1 end
  while true do
    local value
    value, at = decode(text, at, exact, depth)
    n = n + 1
    if value == nil then holes = true else list[n] = value end
    at = after_space(text, at)
    local c = byte(text, at)
    if c == 93 then break elseif c ~= 44 then fail(text, at) end
    at = at + 1
  end
  if not holes then return setmetatable(list, SLICE), at + 1 end
  local full = new_table(n, 0) -- all in one piece, so that # is n unless the last is null
  for i = 1, n do full[i] = list[i] end
  local meta = { __type = "slice", __tostring = SLICE.__tostring, __length = n }
  return setmetatable(full, meta), at + 1
end

local function object_at(text, at, exact, depth)
  local object = {}
  at = after_space(text, at + 1)
  if byte(text, at) == 125 then return object, at + 1 end
  while true do
    local name
    if byte(text, at) ~= 34 then fail(text, at) end
    name, at = text_at(text, at)
    at = after_space(text, at)
    if byte(text, at) ~= 58 then fail(text, at) end
    object[name], at = decode(text, at + 1, exact, depth)
    at = after_space(text, at)
    local c = byte(text, at)
    if c == 125 then return object, at + 1 elseif c ~= 44 then fail(text, at) end
    at = after_space(text, at + 1)
  end
end

decode = function(text, at, exact, depth)
  at = after_space(text, at)
  local c = byte(text, at)
  if c == 34 then return text_at(text, at) end
  if c == 123 or c == 91 then
    if depth >= most_depth then error("invalid JSON: nested too deeply", 0) end
    return (c == 91 and list_at or object_at)(text, at, exact, depth + 1)
  end
  if c == 45 and exact and byte(text, at + 1) == 73 then return -huge, at + 9 end
  if c and (c == 45 or c >= 48 and c <= 57) then return number_at(text, at, exact) end
  return word_at(text, at, exact)
end

local function decoded(text, exact)
  local value, stop = decode(text, 1, exact, 0)
  stop = after_space(text, stop)
  if stop <= #text then fail(text, stop) end
  return value
end

-- What Python sends: a value in the format of string buffers, or JSON after a byte 31
-- (solutions/lua/convert.py). In this JSON whole numbers beyond 2^53 stay text, so that no digit is lost, and
-- numbers that are not finite are taken.
local buffer = require("string.buffer").new({ metatable = { SLICE } })
local set, read = buffer.set, buffer.decode

function codec.receive(data)
  if byte(data, 1) == 31 then return decoded(sub(data, 2), true) end
  if #data > LARGE then
    budget.charge(10 * #data)
    budget.reserve(#data, GROWTH)
  end
  return read(set(buffer, data))
end

-- The value, or nil and the reason.
function codec.parse(text)
  if type(text) ~= "string" then return nil, "invalid JSON: a " .. type(text) .. " instead of text" end
  local ok, value = protected(decoded, text)
  if ok then return value end
  return nil, tostring(value)
end

return codec
