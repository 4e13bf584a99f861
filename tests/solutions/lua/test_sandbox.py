"""Sandbox of scripts: values and functions that they cannot reach."""

from __future__ import annotations

import hashlib
import signal

import pytest

from labkit.script_tests.state import BlockingState
from labkit.solutions.lua import LuaError, LuaSyntaxError
from labkit.solutions.lua.runtime import luajit
from tests.cases import cases
from tests.solutions.lua.bench import Bench

NAMES_OF = (
    "local names = {} for name in pairs(%s) do names[#names + 1] = name end table.sort(names) return names"
)
GLOBALS = """
    _G _VERSION assert bench bit collectgarbage coroutine error from_json getfenv getmetatable ipairs json load
    loadstring log math murano next os pairs pcall print rawequal rawget rawset require script
    select setfenv setmetatable string table to_json tonumber tostring type unpack xpcall
""".split()


async def test_scripts_have_only_these_globals() -> None:
    assert await Bench().value(NAMES_OF % "_G") == GLOBALS


@cases(
    ("library", "names"),
    [
        ("string", "byte char find format gmatch gsub len lower match rep reverse sub upper"),
        ("table", "concat foreach foreachi getn insert maxn move remove sort"),
        ("coroutine", "create isyieldable resume running status wrap yield"),
        ("os", "clock date difftime getenv time"),
        ("bench", "measure"),
        ("json", "parse stringify"),
    ],
)
async def test_a_library_has_only_these_functions(library: str, names: str) -> None:
    assert await Bench().value(NAMES_OF % library) == names.split()


@cases(
    "name",
    "io debug package dofile loadfile jit ffi newproxy python module gcinfo arg part budget".split(),
)
async def test_removed_functions_are_nil(name: str) -> None:
    assert await Bench().value(f"return type({name})") == "nil"


@cases("name", ["ffi", "io", "debug", "jit", "string.buffer", "table.new", "package", "os", "_G"])
async def test_require_finds_only_modules_of_the_solution(name: str) -> None:
    with pytest.raises(LuaError, match="not found"):
        await Bench().value(f"return require('{name}')")


class TestBytecode:
    """Crafted bytecode could escape from any Lua."""

    @cases(
        "load",
        [
            "loadstring(code)",
            "load(code)",
            "load(code, 'x', 'b')",
            "load(function() local piece = code code = nil return piece end)",
            "load(function() i = i + 1 return code:sub(i, i) end)",
        ],
    )
    async def test_is_not_loaded(self, load: str) -> None:
        """The bytecode is string.dump of an empty function."""
        dumped = luajit().LuaRuntime(encoding=None).eval("string.dump(function() end)")
        source = f"i = 0 local chunk, problem = {load} return {{type(chunk), problem}}"
        assert await Bench().value(source, code=dumped) == ["nil", "attempt to load bytecode"]

    def test_is_no_script(self) -> None:
        dumped = luajit().LuaRuntime(encoding=None).eval("string.dump(function() end)")
        bench = Bench()
        for load in (bench.host.load, bench.host.add_module):
            with pytest.raises(LuaSyntaxError):
                load("f", dumped.decode("utf-8", "surrogateescape"))

    async def test_cannot_be_made(self) -> None:
        assert await Bench().value("return type(string.dump)") == "nil"


class TestLoad:
    @cases(
        ("source", "value"),
        [
            ("return loadstring('return 1 + 1')()", 2),
            ("return load('return ...')(5)", 5),
            ("x = 3 return loadstring('x = x + 1 return x')()", 4),
            ("return load('return x', 'name', 't', {x = 7})()", 7),
            ("return select(2, loadstring('x =', '=mine'))", "mine:1: unexpected symbol near '<eof>'"),
            (
                "local parts = {'return ', '4', '2'} return load(function() return table.remove(parts, 1) end)()",
                42,
            ),
            ("return loadstring('return _G == g')(g)", False),
            ("g = _G return loadstring('return _G == g')()", True),
            ("return select(2, pcall(load, 5))", "bad argument #1 to 'load' (function expected)"),
            (
                "return select(2, pcall(load, function() return 5 end))",
                "reader function must return a string",
            ),
            ("return type(loadstring('return io, debug')())", "nil"),
        ],
    )
    async def test_here(self, source: str, value: object) -> None:
        assert await Bench().value(source) == value


@cases(
    "source",
    [
        # The global table of the host, by all known ways.
        "return getmetatable(_G).__index.io == nil",
        "return (function() return io end)() == nil",
        "return coroutine.wrap(function() return io end)() == nil",
        "return loadstring('return io')() == nil",
        (
            "local seen = {} local function walk(t)"
            " if type(t) ~= 'table' or seen[t] then return true end seen[t] = true"
            " for k, v in next, t do if k == 'execute' or k == 'sethook' or k == 'popen' then return false end"
            " if not walk(k) or not walk(v) then return false end end return walk(getmetatable(t)) end"
            " return walk(_G) and walk(getmetatable('')) and walk(getmetatable(_G))"
        ),
        # Texts: their metatable is a copy, their methods are the sandbox's.
        "return getmetatable('').__index == string",
        "getmetatable('').__index = nil return ('x'):upper() == 'X'",
        "return not pcall(setmetatable, 'x', {})",
        "return getmetatable('').__gc == nil and ('x').dump == nil",
        # No Python objects: callables are plain functions, errors plain texts.
        "return type(print) == 'function' and type(os.time) == 'function' and type(log.info) == 'function'",
        "return type(select(2, pcall(os.time, {}))) == 'string'",
        # Numbers that are cdata have no library.
        "return not pcall(function() return (1LL).typeof end)",
        "return getmetatable(1LL) == 'ffi'",
        "return collectgarbage('stop') == 0 and collectgarbage('count') > 0",
    ],
)
async def test_no_way_out(source: str) -> None:
    assert await Bench().value(source) is True


async def test_no_userdata_can_be_reached() -> None:
    source = """
        local seen, found = {}, {}
        local function walk(value, path)
          if type(value) == "userdata" then found[#found + 1] = path end
          if type(value) ~= "table" or seen[value] then return end
          seen[value] = true
          for key, item in next, value do
            walk(key, path)
            walk(item, path .. "." .. tostring(key))
          end
          walk(getmetatable(value), path .. "!")
        end
        walk(_G, "_G")
        walk(getmetatable(""), "text")
        walk(from_json("[1,null]"), "list")
        walk(argument, "argument")
        walk(Keystore.get{}, "result")
        return found
    """
    assert await Bench().value(source, argument={"a": [None]}) == {}


class TestSharedGlobals:
    """Changes of globals by one script are visible to the solution's other scripts, not to the host."""

    @cases(
        "source",
        [
            "local g = _G for name in pairs(g) do if name ~= 'script' then g[name] = nil end end",
            "string.find = nil string.gsub = nil string.sub = error string.format = nil string.byte = nil",
            "table.concat = nil table.sort = nil table.insert = nil",
            "next = nil pairs = error type = nil tostring = nil error = nil pcall = nil rawget = nil select = nil",
            "coroutine.yield = nil coroutine.resume = error coroutine.create = nil coroutine.running = nil",
            "math.floor = nil math.huge = 0 math.random = nil",
            "getmetatable(_G).__newindex = function() error('no') end",
            "setmetatable(_G, {__newindex = function() error('no') end})",
            "getmetatable(from_json('[]')).__tostring = error",
            "for k in pairs(getmetatable(from_json('[]'))) do getmetatable(from_json('[]'))[k] = nil end",
        ],
    )
    async def test_corrupted_globals_do_not_affect_the_host(self, source: str) -> None:
        bench = Bench(modules={"m": ""})
        good = bench.host.load(
            "good", "local r = Keystore.get{value = event} return r", ["event"], publish=False
        )
        await bench.value(source)
        result = await bench.host.run(good, {"a": ["x", {"y": 1}]}, context="c")
        assert result.value == {"value": {"a": ["x", {"y": 1}]}}
        with pytest.raises(LuaError, match="bad:1"):
            await bench.host.run(bench.host.load("bad", "local x = nil + 1", publish=False))

    async def test_undeclared_names(self) -> None:
        """Modules such as strict.lua: services are found nevertheless."""
        source = """
            setmetatable(_G, {
              __index = function(_, name) error("undeclared " .. name, 2) end,
              __newindex = function(t, name, value) rawset(t, name, value) declared = name end,
            })
            fresh = 1
            return {select(2, pcall(function() local x = unknown end)), declared, Keystore.get{value = 1}.value}
        """
        bench = Bench()
        await bench.value("declared = ''")
        assert await bench.value(source) == ["script.lua:7: undeclared unknown", "fresh", 1]

    async def test_the_global_metatable_with_a_table(self) -> None:
        source = "local t = setmetatable(_G, {__index = {other = 5}}) return {other, t == _G, type(nothing)}"
        assert await Bench().value(source) == [5, True, "nil"]


class TestEnvironmentsOfFunctions:
    """getfenv and setfenv equal Lua 5.1's, except for the host's globals."""

    @cases(
        ("source", "value"),
        [
            ("return getfenv() == _G", True),
            ("return getfenv(1) == _G and getfenv(0) == _G", True),
            ("local function f() return getfenv(2) == _G end local r = f() return r", True),
            ("return getfenv(print) == _G and getfenv(pcall) == _G and getfenv(Keystore.get) == _G", True),
            ("local function f() return x end setfenv(f, {x = 5}) return f()", 5),
            ("local function f() return x end return setfenv(f, {x = 5}) == f", True),
            ("local function f() setfenv(1, {x = 5}) return x end return f()", 5),
            ("local function f() return 1 end local t = {} setfenv(f, t) return getfenv(f) == t", True),
            (
                "local g = setfenv(loadstring('x = 1 return x'), {}) return {g(), tostring(rawget(_G, 'x'))}",
                [1, "nil"],
            ),
            (
                "local t = setmetatable({}, {__index = _G}) setfenv(1, t) y = 2 return {y, type(rawget(t, 'y'))}",
                [2, "number"],
            ),
            (
                "return select(2, pcall(setfenv, print, {}))",
                "'setfenv' cannot change environment of given object",
            ),
            (
                "return select(2, pcall(setfenv, 0, {}))",
                "'setfenv' cannot change environment of given object",
            ),
            (
                "return select(2, pcall(setfenv, function() end, 1))",
                "bad argument #2 to 'setfenv' (table expected, got number)",
            ),
            (
                "return select(2, pcall(getfenv, 'x'))",
                "bad argument #1 to 'getfenv' (number expected, got string)",
            ),
            ("return select(2, pcall(getfenv, 99))", "bad argument #1 to 'getfenv' (invalid level)"),
            ("return select(2, pcall(getfenv, -1))", "bad argument #1 to 'getfenv' (invalid level)"),
            ("return select(2, pcall(getfenv, 0/0))", "bad argument #1 to 'getfenv' (invalid level)"),
        ],
    )
    async def test_as_in_lua(self, source: str, value: object) -> None:
        assert await Bench().value(source) == value

    async def test_no_level_returns_the_hosts_globals(self) -> None:
        source = """
            local function look(into)
              for level = 0, 60 do
                local ok, scope = pcall(getfenv, level)
                if ok and scope ~= _G then into[#into + 1] = level end
                pcall(setfenv, level, _G)
              end
            end
            local found = {}
            look(found)
            coroutine.wrap(function() look(found) end)()
            table.sort({2, 1}, function() look(found) return false end)
            string.gsub("x", "x", function() look(found) end)
            pcall(xpcall, function() look(found) error() end, function() look(found) end)
            return #found
        """
        bench = Bench()
        assert await bench.value(source) == 0
        names = "{type(rawget(_G, 'io')), type(print), type(Keystore.get)}"
        assert await bench.value(f"print('x') return {names}") == ["nil", "function", "function"]


@pytest.mark.parametrize(
    "script",
    [
        "math.random()",
        "pcall(pcall, math.random)",
        "xpcall(math.random, print)",
        "coroutine.resume(coroutine.create(math.random))",
        "pcall(coroutine.wrap(math.random))",
    ],
)
def test_a_script_cannot_catch_an_interrupt(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python raises Ctrl-C in the main thread wherever its code begins, also in what Lua calls."""
    state = BlockingState(lambda *_: None, write=print, now=lambda: 0.0, seed="")
    monkeypatch.setattr(hashlib, "shake_128", lambda _: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        state.run(f"for i = 1, 100 do {script} end", "a.lua")
    monkeypatch.undo()
    assert state.run("return #('x'):rep(1000) + math.random(1, 1)", "b.lua") == 1001
