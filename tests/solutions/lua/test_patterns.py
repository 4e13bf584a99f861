"""string.find, match, gmatch and gsub: labkit's own matcher equals LuaJIT's in everything but time."""

from __future__ import annotations

import asyncio
import re
from functools import cache
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.solutions.lua import LuaLimitError, LuaLimits
from labkit.solutions.lua.runtime import luajit
from tests.cases import cases
from tests.sizes import size
from tests.solutions.lua.bench import Bench

SHOW = """
    local function shown(ok, ...)
      local out = {tostring(ok)}
      for i = 1, select("#", ...) do
        local value = (select(i, ...))
        out[i + 1] = type(value) .. ":" .. tostring(value)
      end
      return table.concat(out, "|")
    end
"""
FUNCTIONS = {
    "find": "shown(pcall(string.find, s, p, at))",
    "match": "shown(pcall(string.match, s, p, at))",
    "gsub": "shown(pcall(string.gsub, s, p, r))",
    "gsub twice": "shown(pcall(string.gsub, s, p, r, 2))",
    "gsub with a function": (
        "shown(pcall(string.gsub, s, p, function(a, b) if a == 'b' then return nil end"
        " return '<' .. tostring(a) .. tostring(b) .. '>' end))"
    ),
    "gsub with a table": "shown(pcall(string.gsub, s, p, {a = 'A', b = false, ab = 1}))",
    "gmatch": (
        "shown(pcall(function() local out = {} for a, b in string.gmatch(s, p) do"
        " out[#out + 1] = tostring(a) .. tostring(b) end return table.concat(out, ',') end))"
    ),
}

subjects = st.text("ab()[]x1 .%-\0é", max_size=12)
classes = st.sampled_from(
    "a b x . %a %d %s %w %W %. %% %( [ab] [^a] [%a] [^%w] [a-x] []] [^]] [a-] [%-x] [%]] é - * ^ $".split()
)
items = st.builds(str.__add__, classes, st.sampled_from(["", "", "", "*", "+", "-", "?"])) | st.sampled_from(
    ["()", "%b()", "%bab", "%f[%w]", "%f[^a]", "%1", "%2", "(a)", "(.-)", "(%w*)", "((a)b)", "(", ")", "%z"]
)
patterns = st.builds(
    lambda start, body, end: start + "".join(body) + end,
    st.sampled_from(["", "", "^"]),
    st.lists(items, max_size=5),
    st.sampled_from(["", "", "$"]),
)
garbage = st.text("ab%[]()^$*+-?.1f\0", max_size=8)
replacements = st.sampled_from(["", "x", "<%0>", "%1", "%1-%2", "%%", "a%", "%9", "é\0"])


def table() -> str:
    """Return Lua code of a table of FUNCTIONS."""
    functions = (f"[{name!r}] = function(s, p, r, at) return {code} end" for name, code in FUNCTIONS.items())
    return f"functions = {{{','.join(functions)}}}"


@cache
def native() -> Any:
    """Return LuaJIT's own string library, without labkit."""
    lua = luajit().LuaRuntime(encoding="latin-1")
    source = "function(name, s, p, r, at) return functions[name](s, p, r, at) end"
    functions = ",".join(
        f"[{name!r}] = function(s, p, r, at) return {code} end" for name, code in FUNCTIONS.items()
    )
    lua.execute(f"{SHOW} functions = {{{functions}}}")
    return lua.eval(source)


def latin(text: str) -> str:
    return text.encode().decode("latin-1")


LIMITS = "local FREE, QUICK, WINDOW = 1e4, 2e6, 1e5"
LIGHT = "local LIGHT, LIGHT_TAIL = 2, 32"
NONE = {
    LIMITS: "local FREE, QUICK, WINDOW = 0, 0, 0",
    LIGHT: "local LIGHT, LIGHT_TAIL = -1, -1",
    "return huge": "return -1",
}
ALONE = {
    **NONE,
    "pattern.linear = light and is_linear(items)": "pattern.linear = false",
    "pattern.tail = light and is_tail(items)": "",
}
VARIANTS = {  # functions that are replaced in cost.lua
    "as it is: most go to the native functions": {},
    "where the pattern allows any length": NONE,
    "one place at a time where the pattern allows it": ALONE,
    "the matcher alone": {**ALONE, "pattern.skips = light and pattern.power <= 1 and skips(items)": ""},
}


class TestAgainstTheNativeOnes:
    @cases("variant", VARIANTS)
    @cases("name", FUNCTIONS)
    @settings(max_examples=size(15, 500))
    @given(s=subjects, p=patterns, r=replacements, at=st.integers(-15, 15) | st.none())
    def test_patterns(self, variant: str, name: str, s: str, p: str, r: str, at: int | None) -> None:
        self.check(variant, name, s, p, r, at)

    @cases("variant", VARIANTS)
    @given(s=subjects, p=garbage)
    def test_garbage(self, variant: str, s: str, p: str) -> None:
        self.check(variant, "find", s, p, "", None)

    def check(self, variant: str, name: str, s: str, p: str, r: str, at: int | None) -> None:
        expected, found, again = (  # again, with the parsed pattern that the first call cached
            re.sub(r"string:\S* ?\S*:\d+: ", "string:", functions(name, latin(s), latin(p), latin(r), at))
            for functions in (native(), library(variant), library(variant))
        )
        assert again == found
        if found.startswith("false") and ("pattern" in found or "capture" in found):
            # A malformed pattern is refused at once, even if matching would end before its error,
            # or find another error first.
            assert not expected.startswith("false") or "pattern" in expected or "capture" in expected
        else:
            assert found == expected


def state(variant: str) -> Any:
    """Return a Lua state of its own with only the parts of the prelude that define `mine`."""
    lua = luajit().LuaRuntime(encoding="latin-1")

    def part(name: str) -> Any:
        source = files("labkit.solutions.lua").joinpath("prelude", f"{name}.lua").read_text()
        for old, new in VARIANTS[variant].items() if name == "cost" else ():
            assert old in source
            source = source.replace(old, new)
        return lua.compile(source, name=f"@{name}")

    lua.globals().part = part
    lua.execute("""
        jit.off()
        local function nothing() end
        local budget = {charge = nothing, stop = error, reserve = nothing, pcall = pcall}
        local tables = part("tables")(budget)
        local matcher = part("matcher")(1e9, error, part("cost")())
        mine = part("patterns")(matcher, budget, tables.concat)
        setmetatable(mine, {__index = string})
    """)
    return lua


@cache
def library(variant: str) -> Any:
    lua = state(variant)
    lua.execute(f"local string = mine {SHOW} {table()}")
    return lua.eval("function(name, s, p, r, at) return functions[name](s, p, r, at) end")


LINES = [
    "",
    "device-1,21.5,on,7",
    ",,,",
    "a;b,c",
    "x=1",
    "%41%42,1",
] * 3000  # far more than any call may run without a check
THROUGH = {  # go through a text, from match to match
    "find": "local at, n, out = 1, 0, 0 while true do local from, to, a = string.find(s, p, at) if not from then break"
    " end n, out = n + 1, out + from + to + #tostring(a) at = math.max(to, from) + 1 end return n, out",
    "match": "local out = {} for at = -7, #s + 9, 997 do local a, b = string.match(s, p, at)"
    " out[#out + 1] = tostring(a) .. '|' .. tostring(b) end return table.concat(out, ' ')",
    "gsub": "local n, out = 0, '' local made, count = string.gsub(s, p, function(a, b) n = n + #tostring(a)"
    " if n % 3 == 0 then return '<' .. tostring(b) .. '>' end end) return n, count, #made, made",
}


class TestLongTexts:
    @cases("name", THROUGH)
    @cases(
        "p",
        [
            "\n",
            "\r?\n",
            "([^\n]*)\n()",
            "(.-)\n",
            "[^,\n]+",
            "%d",
            "(%w+)=(%w+)",
            "%%(%x%x)",
            "on,",
            "\n$",
            ",()",
        ],
    )
    def test_successive_matches_equal_the_native_ones(self, name: str, p: str) -> None:
        lua = state("as it is: most go to the native functions")
        of = lua.eval(f"function(string) return function(s, p) {THROUGH[name]} end end")
        given = "\n".join(LINES) + "\n", p
        assert of(lua.globals().mine)(*given) == of(lua.globals().string)(*given)

    async def test_a_searched_text_uses_no_memory_of_the_next_run(self) -> None:
        bench = Bench(limits=LuaLimits(memory_bytes=18 * 2**20))
        for n in range(3):
            assert await bench.value(f"return (('x{n}'):rep(3.5e6):find('(.-)x', 2))") == 2


INSTRUCTIONS = """
    local n
    local function work(string, s, k) {source} end
    return function(string, s, k)
      work(string, s, 2) -- what is found out the first time
      n = 0
      debug.sethook(function() n = n + 1 end, "", 1)
      work(string, s, k)
      debug.sethook()
      return n
    end
"""


class TestCost:
    """Their cost is mostly that of the instructions beside the native function, which can be counted."""

    @cases(
        ("call", "most"),
        [
            ("string.find(s, ',', 3, true)", 12),
            ("string.find(s, ', ', 3, true)", 12),
            ("string.find(s, '.', 3, true)", 15),
            ("string.find(s, ',', 3)", 12),
            ("string.find(s, '%d', 3)", 32),
            ("string.find(s, '([^,]*),', 3)", 45),
            ("string.find(s, '\\r?\\n', 3)", 75),
            ("string.match(s, '([^,]*),()', 3)", 45),
            ("string.gmatch(s, '[^,]+')", 20),
            ("string.gsub(short, '^%s+', '')", 25),
            ("string.gsub(short, ',', f)", 150),  # 8 matches
            ("string.gsub(short, '(,)', f)", 150),
        ],
    )
    @cases("length", [10, 100_000])
    def test_instructions(self, call: str, most: int, length: int) -> None:
        lua = state("as it is: most go to the native functions")
        lua.execute("short = ('x'):rep(9, ',') function f() end")
        run = lua.execute(INSTRUCTIONS.replace("{source}", f"for i = 1, k do local x = {call} end"))
        text = "x" + "x,y. \r\n21" * length
        mine, native_ones = (run(lua.globals()[name], text, 100) for name in ("mine", "string"))
        assert (mine - native_ones) / 100 <= most


class TestInScripts:
    @cases(
        ("source", "value"),
        [
            ("return {('key=value'):match('(%w+)=(%w+)')}", ["key", "value"]),
            ("return ('  trim me  '):match('^%s*(.-)%s*$')", "trim me"),
            ("return {('a,b,,c'):gsub(',', ';')}", ["a;b;;c", 3]),
            ("return (('a b'):gsub('%W', function(c) return ('%%%02X'):format(c:byte()) end))", "a%20b"),
            ("return {('hello'):find('l')}", [3, 3]),
            ("return {('a.b'):find('.', 2, true)}", [2, 2]),
            ("return {('a.b'):find('', 10)}", [4, 3]),
            ("return {(5):rep(2), (15):find(5)}", None),
            ("local t = {} for w in ('one two'):gmatch('%a+') do t[#t + 1] = w end return t", ["one", "two"]),
            ("return {string.find(155, 5)}", [2, 2]),
            ("return {string.gsub('abc', '%w', '%0%0', 2)}", ["aabbc", 2]),
            ("return {('THE (quick) fox'):find('%((%a+)%)')}", [5, 11, "quick"]),
            ("return (('x'):gsub('x', '%%'))", "%"),
            (
                "return {pcall(string.gsub, 'x', 'x', function() return {} end)}",
                [False, "invalid replacement value (a table)"],
            ),
        ],
    )
    async def test_here(self, source: str, value: object) -> None:
        if value is None:  # numbers have no methods
            source, value = "return tostring(pcall(function() return (5):rep(2) end))", "false"
        assert await Bench().value(source) == value

    @cases(
        ("call", "reason"),
        [
            ("string.find()", "bad argument #1 to 'find' (string expected, got nil)"),
            ("string.find('x', {})", "bad argument #2 to 'find' (string expected, got table)"),
            ("string.find('x', 'x', {})", "bad argument #3 to 'find' (number expected, got table)"),
            ("string.match(nil, 'x')", "bad argument #1 to 'match' (string expected, got nil)"),
            ("string.gmatch('x')", "bad argument #2 to 'gmatch' (string expected, got nil)"),
            ("string.gsub('x', 'x')", "bad argument #3 to 'gsub' (string/function/table expected)"),
            ("string.gsub('x', 'x', 'y', {})", "bad argument #4 to 'gsub' (number expected, got table)"),
        ],
    )
    async def test_wrong_arguments(self, call: str, reason: str) -> None:
        source = f"local ok, problem = pcall(function() local x = {call} end) return problem"
        assert await Bench().value(source) == f"script.lua:1: {reason}"

    @given(st.integers(0, size(1000, 4000)))
    def test_long_texts_with_common_patterns(self, length: int) -> None:
        """These use labkit's matcher because of their length, and end well within the limits."""
        bench = Bench(limits=LuaLimits(cpu_seconds=2, pattern_steps=10_000_000))
        text = " " + "word " * length
        source = """
            local words = 0
            for word in x:gmatch("(%a+)%s*") do words = words + 1 end
            local trimmed = x:match("^%s*(.-)%s*$")
            return {words, #trimmed, #x:gsub("(%a)(%a+)", "%2%1")}
        """
        function = bench.host.load("f", source, ["x"])
        value = asyncio.run(bench.host.run(function, text)).value
        assert value == [length, max(0, len(text) - 2), len(text)]

    async def test_one_match_has_a_limit(self) -> None:
        bench = Bench(limits=LuaLimits(cpu_seconds=5, pattern_steps=100_000))
        with pytest.raises(LuaLimitError, match="more than 100000 steps") as caught:
            await bench.value("return ('a'):rep(1000):find(('.-'):rep(10) .. 'b')")
        assert caught.value.limit == "pattern"
        assert await bench.value("return ('a'):rep(1000):find('b')") is None
