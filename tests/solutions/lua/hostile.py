"""Scripts that try to hang, fill the memory or escape their limits: (name, source, possible ends).

Possible ends: limits, `error` for a plain error, `ends` for a regular end.
"""

LOOPS = {
    "loop": ("while true do end", "cpu"),
    "goto": ("::a:: goto a", "cpu"),
    "tail call": ("local function f() return f() end return f()", "cpu"),
    "pcall in a loop": ("while true do pcall(function() while true do end end) end", "cpu"),
    "swallowed by pcall": ("pcall(function() while true do end end) return 'swallowed'", "cpu"),
    "pcall of pcall": ("local function f() while true do pcall(pcall, f) end end f()", "cpu"),
    "handler": ("xpcall(function() while true do end end, function() while true do end end) return 1", "cpu"),
    "coroutines in a loop": (
        "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
        "cpu",
    ),
    "wrap and pcall": ("while true do pcall(coroutine.wrap(function() while true do end end)) end", "cpu"),
    "services out of reach": ("while true do pcall(Keystore.get, 1) end", "cpu"),
    "print": ("while true do print('x') end", "cpu"),
    "collectgarbage": ("while true do collectgarbage('collect') end", "cpu"),
    "a closure each": ("local t while true do t = {function() return t end} end", "cpu"),
    "iterator in C": ("for _ in pcall, error do end", "cpu"),
    "foreach with pcall": (
        "local t = {} for i = 1, 1e4 do t[i] = i end while true do table.foreach(t, pcall) end",
        "cpu",
    ),
    "sort with pcall": (
        "local t = {} for i = 1, 1e4 do t[i] = function() while true do end end end table.sort(t, pcall)",
        "cpu",
    ),
    "gsub with pcall": ("return (('x'):rep(1000000)):gsub('.', pcall)", "cpu"),
    "sort": ("table.sort({3, 2, 1}, function() while true do end end)", "cpu"),
    "sort that never agrees": (
        "local t = {} for i = 1, 1000 do t[i] = i end table.sort(t, function() return true end)",
        "error",
    ),
    "load from an endless reader": ("load(function() return 'x = 1 ' end)", "cpu ends"),
    "module": ("package = nil require('no')", "error"),
}

METAMETHODS = {
    "tostring of an error": (
        "error(setmetatable({}, {__tostring = function() while true do end end}))",
        "cpu",
    ),
    "tostring of itself": (
        "local o o = setmetatable({}, {__tostring = function() return tostring(o) end}) print(o)",
        "cpu",
    ),
    "tostring in format": (
        "('%s'):format(setmetatable({}, {__tostring = function() while true do end end}))",
        "cpu",
    ),
    "tostring nested in format": (
        "local o o = setmetatable({}, {__tostring = function() return ('%s'):format(o) end}) return tostring(o)",
        "error cpu",
    ),
    "print": ("print(setmetatable({}, {__tostring = function() while true do end end}))", "cpu"),
    "index of a result": ("return setmetatable({}, {__index = function() while true do end end})", "ends"),
    "index": ("return setmetatable({}, {__index = function() while true do end end}).x", "cpu"),
    "index of arguments": (
        "Keystore.get(setmetatable({}, {__index = function() while true do end end}))",
        "ends",
    ),
    "index of globals": (
        "setmetatable(_G, {__index = function() while true do end end}) return undefined",
        "cpu",
    ),
    "globals that raise": ("setmetatable(_G, {__index = error, __newindex = error})", "ends"),
    "gc": (
        "for i = 1, 1e5 do setmetatable({}, {__gc = function() while true do end end}) end",
        "ends cpu",
    ),
    "concat in itself": (
        "local m = {} m.__concat = function(a, b) return a .. b end local o = setmetatable({}, m) return o .. o",
        "error cpu",
    ),
    "eq in itself": (
        "local m = {} m.__eq = function(a, b) return a == b end return setmetatable({}, m) == setmetatable({}, m)",
        "error cpu",
    ),
    "lt in sort": (
        (
            "local m = {} m.__lt = function(a, b) table.sort({a, b}) return true end"
            " local o = setmetatable({}, m) table.sort({o, o})"
        ),
        "error cpu",
    ),
}

# A script that knows the end of the stack can get to where a check of the clock has no room.
FIND_END = "local n = 0 local function f() n = n + 1 f() n = n end pcall(f) "
DEEP = "local function deep(k, g) if k == 0 then while true do g() end end deep(k - 1, g) return k end "
ALL = "while true do for d = n - 60, n + 20 do pcall(deep, d, %s) end end"
# It can also get there at once, before the next check, by passing thousands of arguments on.
FILL = (
    "local t, there = {} for i = 1, 7500 do t[i] = i end"
    " local function fill(n, ...) if n == 0 then there = true while true do end end return (fill(n - 1, ...)) end"
    " local function find(try) for size = 7500, 7000, -1 do try(size) if there then return size end end end "
)
STACK = {
    "recursion": ("local function f() return 1 + f() end return f()", "error"),
    "pcall of itself": ("local function f() pcall(f) f() end f()", "cpu"),
    "xpcall of itself": ("local function f() xpcall(f, f) f() end f()", "cpu"),
    "arguments": ("local function f(...) return f(1, ...) end return f()", "error cpu"),
    "arguments and pcall": ("local function f(...) return pcall(f, 1, ...) end return f()", "ends"),
    "coroutines inside one another": ("local function f() coroutine.wrap(f)() end f()", "error"),
    "coroutines and pcall": ("local function f() pcall(coroutine.wrap(f)) pcall(f) end f()", "cpu"),
    "gsub inside itself": ("local function f() return ('a'):gsub('a', f) end f()", "error"),
    "sort inside itself": ("local function f() table.sort({1, 2, 3}, f) end f()", "error"),
    "format inside itself": (
        "local o o = setmetatable({}, {__tostring = function() return ('%s'):format(o) end}) print(o)",
        "error cpu",
    ),
    "at the end": (FIND_END + DEEP + ALL % "type, 1", "cpu"),
    "at the end with pcall": (
        FIND_END + DEEP + ALL % "function() pcall(function() while true do end end) end",
        "cpu",
    ),
    "at the end with to_json": (
        FIND_END + DEEP + "local t = {} for i = 1, 1000 do t[i] = i end " + ALL % "function() to_json(t) end",
        "cpu",
    ),
    "at the end with resume": (
        FIND_END
        + DEEP
        + ALL % "function() coroutine.resume(coroutine.create(function() while true do end end)) end",
        "cpu",
    ),
    "at the end at once": (
        FILL + "local function try(size) pcall(fill, 9, unpack(t, 1, size)) end"
        " local size = find(try) while true do try(size) end",
        "cpu",
    ),
    "at the end of a coroutine at once": (
        FILL + "local function try(size) coroutine.resume(coroutine.create(fill), 9, unpack(t, 1, size)) end"
        " local size = find(try) while true do try(size) end",
        "cpu",
    ),
    "at the end of a coroutine": (
        FIND_END + DEEP + "while true do for d = n - 40, n + 40 do"
        " coroutine.resume(coroutine.create(deep), d, type, 1) end end",
        "cpu",
    ),
}

MEMORY = {
    "1 GB": ("return ('x'):rep(2 ^ 30)", "memory"),
    "1 GB with a separator": ("return ('x'):rep(1e5, ('y'):rep(1e4))", "memory"),
    "doubling": ("local s = 'x' while true do s = s .. s end", "memory"),
    "doubling, then the same again": (
        "local s = 'x' for i = 1, 24 do s = s .. s end local t = s .. s while true do local u = s .. s end",
        "memory",
    ),
    "doubling with pcall": (
        "local s = 'x' while true do if not pcall(function() s = s .. s end) then s = 'x' end end",
        "cpu",
    ),
    "long texts": (
        "local s = ('x'):rep(900000) while true do i = (i or 0) + 1 local t = s .. i end",
        "cpu memory",
    ),
    "the same text again": (
        "local s = ('x'):rep(60000) s = s .. s .. s .. s local t = s .. s .. s while true do local u = s .. s .. s end",
        "cpu memory",
    ),
    "the same longer text again": (
        (
            "local s = ('x'):rep(60000) for i = 1, 5 do s = s .. s for k = 1, 1000 do local x = k end end"
            " local t = s .. s .. s while true do local u = s .. s .. s end"
        ),
        "cpu memory",
    ),
    "longer texts": (
        "local s = ('x'):rep(4000000) while true do i = (i or 0) + 1 local t = s .. i end",
        "cpu memory",
    ),
    "longest texts": (
        "local s = ('x'):rep(20000000) while true do i = (i or 0) + 1 local t = s .. i end",
        "cpu memory",
    ),
    "rep in a loop": ("while true do pcall(string.rep, 'x', 3e7) end", "cpu"),
    "upper": ("local s = ('x'):rep(900000) while true do s:upper() end", "cpu"),
    "sub": ("local s, i = ('x'):rep(900000), 0 while true do i = i + 1 s:sub(i % 100) end", "cpu"),
    "reverse": ("local s = ('x'):rep(2000000) while true do s:reverse() end", "cpu"),
    "compare": (
        "local s = ('x'):rep(900000) local a, b = s .. 'a', s .. 'b' while true do local x = a < b end",
        "cpu",
    ),
    "tonumber": ("local s = ('1'):rep(900000) while true do tonumber(s) end", "cpu"),
    "byte": ("local s = ('x'):rep(900000) while true do s:byte(1, 7000) end", "cpu"),
    "quoted": ("local s = ('\\n'):rep(900000) while true do ('%q'):format(s) end", "cpu"),
    "formats": ("while true do ('%99.99f'):format(1e300) end", "cpu"),
    "format width": ("return ('%99999999d'):format(1)", "error"),
    "date": ("while true do os.date('%1000d%1000d') end", "cpu"),
    "gsub that grows": ("local s = ('x'):rep(100000) return s:gsub('x', s)", "memory"),
    "a list": ("local t = {} for i = 1, 1e9 do t[i] = i end", "cpu memory"),
    "a global list of texts": (
        "big = {} while true do big[#big + 1] = ('x'):rep(1000) .. #big end",
        "cpu memory",
    ),
    "a map": ("local t = {} for i = 1, 1e9 do t['k' .. i] = i end", "cpu memory"),
    "a map that is full": (
        (
            "local t, i = {}, 0 for k = 1, 2 ^ 15 do t['k' .. k] = k end"
            " while true do i = i + 1 t['k' .. i] = nil t['q' .. i] = 1 end"
        ),
        "cpu",
    ),
    "insert first": (
        "local t = {} for i = 1, 1e5 do t[i] = i end while true do table.insert(t, 1, 1) table.remove(t) end",
        "cpu",
    ),
    "remove first": (
        "local t = {} for i = 1, 1e5 do t[i] = i end while true do table.insert(t, 1) table.remove(t, 1) end",
        "cpu",
    ),
    "insert far away": ("table.insert({}, -2 ^ 31, 1)", "error"),
    "concat of nothing": ("return table.concat({}, 'x', 1, 1e9)", "error"),
    "concat of much": (
        "local t = {} for i = 1, 1e5 do t[i] = '' end while true do table.concat(t) end",
        "cpu",
    ),
    "unpack": ("return unpack({}, 1, 1e8)", "error"),
    "unpack in a loop": (
        "local t = {} for i = 1, 7000 do t[i] = i end while true do select('#', unpack(t)) end",
        "cpu",
    ),
    "maxn": ("local t = {} for i = 1, 1e5 do t[i] = i end while true do table.maxn(t) end", "cpu"),
    "next of an emptied table": (
        "local t = {} for i = 1, 1e5 do t[i] = i end for i = 1, 1e5 do t[i] = nil end while true do next(t) end",
        "cpu",
    ),
    "sort of much": ("local t = {} for i = 1, 3e5 do t[i] = -i end table.sort(t) while true do end", "cpu"),
    "sort of long texts": (
        "local a, t = ('x'):rep(900000), {} for i = 1, 1000 do t[i] = a .. i % 2 end while true do table.sort(t) end",
        "cpu memory",
    ),
    "coroutines": (
        "local t = {} while true do t[#t + 1] = coroutine.create(coroutine.yield) coroutine.resume(t[#t]) end",
        "coroutines cpu",
    ),
    "source": ("return loadstring(('x = 1 '):rep(1e6))", "cpu ends"),
    "source in a loop": ("local s = ('x = 1 '):rep(50000) while true do loadstring(s) end", "cpu"),
    "source that is deep": ("return loadstring(('('):rep(100000))", "ends"),
    "collector out of step": ("collectgarbage('setpause', 1e9) local t while true do t = {} end", "cpu"),
}

# Operations that are slow on much data, which is assembled with service calls in between.
LIST = "t = {} for i = 1, 5e5 do t[i] = i if i % 5000 == 0 then Keystore.get{} end end "
MAP = "m = {} for i = 1, 2 ^ 17 do m['k' .. i] = i if i % 2000 == 0 then Keystore.get{} end end "
MUCH = {
    "maxn": (LIST + "while true do table.maxn(t) end", "cpu"),
    "length after an end was cut off": (LIST + "t[5e5] = nil while true do local n = #t end", "cpu"),
    "a list that gets a name": (
        LIST + "local i = 0 while true do i = i + 1 t['k' .. i] = 1 t['k' .. i] = nil end",
        "cpu",
    ),
    "concat": (LIST + "while true do pcall(table.concat, t, '', 5e5) end", "cpu memory"),
    "unpack": (LIST + "while true do pcall(unpack, t, 1, 7000) end", "cpu"),
    "insert": (LIST + "while true do table.insert(t, 1, 1) table.remove(t) end", "cpu"),
    "next": (
        LIST
        + "for i = 1, 5e5 do t[i] = nil if i % 5000 == 0 then Keystore.get{} end end while true do next(t) end",
        "cpu",
    ),
    "a full map": (
        MAP + "local i = 0 while true do i = i + 1 m['k' .. i] = nil m['q' .. i] = 1 end",
        "cpu memory",
    ),
    "garbage": (LIST + "while true do local x = {} end", "cpu"),
    "JSON": (LIST + "while true do to_json(t) end", "cpu"),
    "texts": (
        LIST + "local s, i = ('x'):rep(1e6), 0 while true do i = i + 1 local x = s .. i end",
        "cpu memory",
    ),
}

PATTERNS = {
    "lazy items": ("return ('a'):rep(5000):find(('.-'):rep(20) .. 'b')", "cpu pattern"),
    "optional items": ("return ('a'):rep(40):find(('a?'):rep(40) .. ('a'):rep(40))", "cpu pattern"),
    "greedy items": ("return ('a'):rep(3000):match(('a*'):rep(10) .. 'b')", "cpu pattern"),
    "balance": ("return ('('):rep(100000):find('%b()')", "cpu pattern"),
    "back references": ("return ('a'):rep(3000):find('(.*)(.*)%1%2b')", "cpu pattern"),
    "small ones without end": ("local s = ('a'):rep(900) while true do s:find('a*a*b') end", "cpu pattern"),
    "gmatch": ("for w in ('a'):rep(200000):gmatch('.-b') do end", "ends"),
    "gsub": ("return ('a'):rep(200000):gsub('.-b', '')", "ends"),
    "plain": ("local s = ('a'):rep(4e6) return s:find(('a'):rep(2e6) .. 'b', 1, true)", "pattern"),
    "plain in a loop": (
        "local s = ('a'):rep(40000) while true do s:find(('a'):rep(20000) .. 'b', 1, true) end",
        "cpu",
    ),
    "classes": (
        "local i = 0 while true do i = i + 1 ('x'):find('[a' .. i .. ']*[b' .. i .. ']*$') end",
        "cpu",
    ),
    "one character that is not there": (
        "local s = ('a'):rep(8e6) while true do s:find('b', 1, true) end",
        "cpu",
    ),
    "a few that nearly are": (
        "local s = ('a'):rep(8e6) while true do s:find('aaaaaaaaaaaaaaab', 1, true) end",
        "cpu",
    ),
    "a class that is not there": ("local s = ('a'):rep(8e6) while true do s:find('%d') end", "cpu"),
    "a row that nearly is": ("local s = ('a'):rep(8e6) while true do s:find('aaaab') end", "cpu"),
    "classes in a row": ("local s = ('a'):rep(1e6) while true do s:find('%a%a%a%d') end", "cpu"),
    "sets in a row": ("local s = ('a'):rep(1e6) while true do s:find('[a-z][a-z][0-9a]%d') end", "cpu"),
    "up to a character at the end": (
        "local s = ('a'):rep(8e6) .. ';' while true do s:find('([^;]*);') end",
        "cpu",
    ),
    "the same, matched": ("local s = ('a'):rep(8e6) .. ';' while true do s:match('(.-);', 2) end", "cpu"),
    "four of these": (
        "local s = ('a'):rep(2e6) .. ';' while true do s:find('([^;]*);([^;]*);([^;]*);([^;]*);') end",
        "cpu",
    ),
    "four at the end": (
        "local s = ('a'):rep(2e6) .. ';b;c;d;' while true do s:find('([^;]*);([^;]*);([^;]*);([^;]*);') end",
        "cpu",
    ),
    "the same, iterated": (
        "local s = ('a'):rep(8e6) .. ';' while true do for _ in s:gmatch('[^;]*;') do break end end",
        "cpu",
    ),
    "the same, replaced": (
        "local s = ('a'):rep(8e6) .. ';' while true do s:gsub('[^;]*;', print) end",
        "cpu",
    ),
    "malformed": ("while true do pcall(string.find, 'x', ('('):rep(32)) end", "cpu"),
}

CONVERSION = {
    "many paths": ("local t = {} for i = 1, 30 do t = {t, t} end return t", "cpu error"),
    "many paths in JSON": ("local t = {} for i = 1, 90 do t = {t, t} end return to_json(t)", "cpu ends"),
    "many paths to a service": ("local t = {} for i = 1, 90 do t = {t, t} end Keystore.get(t)", "cpu error"),
    "many paths printed": ("local t = {} for i = 1, 90 do t = {t, t} end while true do print(t) end", "cpu"),
    "itself": ("local t = {} t.t = t return t", "error"),
    "itself in a loop": ("local t = {} t.t = t while true do to_json(t) end", "cpu"),
    "a list of any length": ("return setmetatable({}, {__type = 'slice', __length = 1e15})", "cpu error"),
    "keys": (
        "local t, a = {}, ('x'):rep(1e4) for i = 1, 1000 do t[a .. i] = i end while true do to_json(t) end",
        "cpu memory",
    ),
    "brackets": ("return from_json(('['):rep(1e6))", "ends"),
    "much JSON": ("local s = '[' .. ('{},'):rep(1e5) .. '{}]' while true do from_json(s) end", "cpu"),
    "long text in JSON": (
        "local s = '\"' .. ('\\\\n'):rep(3e5) .. '\"' while true do from_json(s) end",
        "cpu memory",
    ),
    "cdata": ("return 1LL", "error"),
}

SCRIPTS = {
    f"{group}: {name}": script
    for group, scripts in {
        "loops": LOOPS,
        "metamethods": METAMETHODS,
        "stack": STACK,
        "memory": MEMORY,
        "much": MUCH,
        "patterns": PATTERNS,
        "conversion": CONVERSION,
    }.items()
    for name, script in scripts.items()
}
