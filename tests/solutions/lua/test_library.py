"""Globals of scripts beyond Lua's own, and standard functions that labkit replaces."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.solutions.lua import LuaError, LuaLimits
from labkit.solutions.lua.runtime import luajit
from tests.cases import cases
from tests.solutions.lua.bench import Bench


class TestTime:
    """os uses lab time, in UTC."""

    async def test_time_is_lab_time(self) -> None:
        bench = Bench()
        function = bench.host.load("f", "return {os.time(), os.clock(), os.date('!%H:%M:%S')}")
        assert (await bench.host.run(function)).value == [1_700_000_000, 0, "22:13:20"]
        bench.time += 3600.5
        assert (await bench.host.run(function)).value == [1_700_003_600, 3600.5, "23:13:20"]

    @cases(
        ("source", "value"),
        [
            ("os.date('!%Y-%m-%dT%H:%M:%S')", "2023-11-14T22:13:20"),
            ("os.date('%Y-%m-%d', 0)", "1970-01-01"),
            ("os.date('!%c', 0)", "Thu Jan  1 00:00:00 1970"),
            ("os.date(nil, 86399.9)", "Thu Jan  1 23:59:59 1970"),
            ("os.date('%H', '3600')", "01"),
            ("os.date('*t').hour", 22),
            ("os.date('!*t', 0).year", 1970),
            ("os.date('*t').isdst", False),
            ("os.date('', 0)", ""),
            ("tostring(os.date('%c', 1e300))", "nil"),
            ("tostring(os.date('%c', 0/0))", "nil"),
            ("os.time({year = 1970, month = 1, day = 1, hour = 0})", 0),
            ("os.time({year = 1970, month = 1, day = 1, hour = 2, isdst = true})", 3600),
            ("os.time({year = 1970, month = 1, day = 1, hour = 2, isdst = false})", 7200),
            ("os.time({year = 1970, month = 1, day = 1})", 43200),
            ("os.time({year = 2024, month = 2, day = 29, hour = 12, min = 30, sec = 15})", 1_709_209_815),
            ("os.time({year = 2024, month = 14, day = 0, hour = 0})", 1_738_281_600),
            ("os.time({year = 2024, month = -1, day = 1, hour = -24})", 1_698_710_400),
            ("os.time({year = '2024', month = '1', day = '1', hour = '0'})", 1_704_067_200),
            ("os.time(os.date('*t'))", 1_700_000_000),
            ("os.difftime(5, 3)", 2),
        ],
    )
    async def test_dates(self, source: str, value: object) -> None:
        assert await Bench().value(f"return {source}") == value

    @given(st.integers(-11_676_096_000, 29_348_352_000))
    def test_time_of_any_date(self, seconds: int) -> None:
        """For the years 1600 to 2900."""
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
        bench = Bench()
        source = "return {os.time(t), os.date('!%Y-%m-%d %H:%M:%S', os.time(t))}"
        function = bench.host.load("f", source, ["t"])
        fields = {"year": moment.year, "month": moment.month, "day": moment.day}
        fields |= {"hour": moment.hour, "min": moment.minute, "sec": moment.second}
        text = moment.strftime("%Y-%m-%d %H:%M:%S")
        assert asyncio.run(bench.host.run(function, fields)).value == [seconds, text]

    @cases(
        ("source", "reason"),
        [
            ("os.time({year = 2024, month = 1})", "script.lua:1: field 'day' missing in date table"),
            ("os.time(5)", "script.lua:1: bad argument #1 to 'time' (table expected, got number)"),
            ("os.date({})", "script.lua:1: bad argument #1 to 'date' (string expected, got table)"),
            ("os.date('%c', {})", "script.lua:1: bad argument #2 to 'date' (number expected, got table)"),
            ("os.date(('x'):rep(2000))", "script.lua:1: bad argument #1 to 'date' (too long)"),
        ],
    )
    async def test_wrong_arguments(self, source: str, reason: str) -> None:
        with pytest.raises(LuaError) as caught:
            await Bench().value(f"local x = {source}")
        assert caught.value.message == reason

    async def test_os_has_nothing_else(self) -> None:
        source = "local names = {} for name in pairs(os) do names[#names + 1] = name end return names"
        assert await Bench().value(source) == ["clock", "date", "difftime", "getenv", "time"]

    async def test_environment(self) -> None:
        bench = Bench(environment={"NAME": "wörld", "EMPTY": ""})
        source = "return {os.getenv('NAME'), os.getenv('EMPTY'), tostring(os.getenv('PATH')), tostring(os.getenv())}"
        assert "PATH" in os.environ
        assert await bench.value(source) == ["wörld", "", "nil", "nil"]


class TestPrintAndLog:
    @cases(
        ("source", "text"),
        [
            ("print()", ""),
            ("print('a', 1, nil, true)", "a\t1\tnil\ttrue"),
            ("print({b = {1, 2}, a = 'x'})", '{"a":"x","b":[1,2]}'),
            ("print(from_json('[]'), {})", "[]\t{}"),
            ("print(setmetatable({}, {__tostring = function() return 'mine' end}))", "mine"),
            ("print(0.1, 1e15, 2^53)", "0.1\t1e+15\t9.007199254741e+15"),
            ("print('grüße \\255')", "grüße \udcff"),
        ],
    )
    async def test_print(self, source: str, text: str) -> None:
        bench = Bench()
        await bench.value(source)
        assert bench.logs == [("print", text, "context")]

    async def test_tables_that_json_cannot_represent_have_their_address(self) -> None:
        bench = Bench()
        await bench.value("print({print}, print)")
        assert bench.logs[0][1].startswith("table: 0x")

    @cases(
        "level",
        ["debug", "info", "notice", "warn", "warning", "error", "critical", "alert", "emergency"],
    )
    async def test_log(self, level: str) -> None:
        bench = Bench()
        await bench.value(f"log.{level}('x', {{1}})")
        assert bench.logs == [(level, "x\t[1]", "context")]

    async def test_long_lines_are_cut(self) -> None:
        bench = Bench(limits=LuaLimits(log_bytes=10))
        await bench.value("print(('x'):rep(11)) print(('y'):rep(10))")
        assert [text for _, text, _ in bench.logs] == ["x" * 10 + "…", "y" * 10]

    async def test_tostring_that_returns_no_text(self) -> None:
        with pytest.raises(LuaError, match="'tostring' must return a string"):
            await Bench().value("print(setmetatable({}, {__tostring = function() return 1 end}))")


async def test_bench_measure() -> None:
    async def slow(*_: object) -> object:
        bench.time += 1.5
        return None

    bench = Bench(service=slow)
    source = "return {bench.measure(function(a) Foo.bar{} return a, nil, 3 end, 'arg')}"
    value = await bench.value(source)
    assert value == {"1": "arg", "3": 3, "4": "1.500000"}


class TestSeed:
    source = "local t = {} for i = 1, 5 do t[i] = math.random(1000000) end return t"

    async def test_the_same_seed_gives_the_same_numbers(self) -> None:
        first, second, other = [await Bench(random_seed=seed).value(self.source) for seed in (3, 3, 4)]
        assert first == second != other

    async def test_without_a_seed_numbers_differ(self) -> None:
        first, second = [await Bench(random_seed=None).value(self.source) for _ in range(2)]
        assert first != second

    @cases("seed", [0, -1, 2**80])
    async def test_any_seed(self, seed: int) -> None:
        assert 0 <= await Bench(random_seed=seed).value("return math.random()") < 1

    async def test_pairs_is_in_order_of_the_keys(self) -> None:
        source = """
            local t, seen = {[10] = 1, [2] = 1, [-1.5] = 1, zebra = 1, apple = 1, [true] = 1}
            seen = {}
            for key, value in pairs(t) do seen[#seen + 1] = tostring(key) .. value end
            return seen
        """
        assert await Bench().value(source) == ["-1.51", "21", "101", "apple1", "zebra1", "true1"]

    @pytest.mark.parametrize("random_seed", [None, 7])
    async def test_pairs_while_the_table_changes(self, random_seed: int | None) -> None:
        source = """
            local t, n = {}, 0
            for i = 1, 100 do t["k" .. i] = i end
            for key, value in pairs(t) do
              t[key] = nil
              if value % 2 == 0 then t["k" .. value - 1] = nil else t["k" .. value + 1] = nil end
              n = n + 1
            end
            return {n, next(t)}
        """
        assert await Bench(random_seed=random_seed).value(source) == [50]

    @pytest.mark.parametrize("random_seed", [None, 7])
    async def test_pairs_of_other_values_than_tables(self, random_seed: int | None) -> None:
        with pytest.raises(LuaError) as caught:
            await Bench(random_seed=random_seed).value("for k in pairs(nil) do end")
        assert caught.value.message == "script.lua:1: bad argument #1 to 'pairs' (table expected, got nil)"


ORDERS = [
    "function(a, b) return a[1] > b[1] end",
    "function(a, b) return a[1] >= b[1] end",
    "function(a, b) return true end",
    "function(a, b) return false end",
    "function(a, b) return (a[1] + b[2]) % 3 == 0 end",
]


class TestTables:
    @given(st.lists(st.integers(-50, 50) | st.floats(-5, 5), max_size=200))
    def test_sort_numbers(self, values: list[float]) -> None:
        assert self.sorted(values, "table.sort(x)") == sorted(values)

    @given(st.lists(st.text(st.characters(codec="ascii"), max_size=5), max_size=100))
    def test_sort_texts(self, values: list[str]) -> None:
        assert self.sorted(values, "table.sort(x)") == sorted(values)

    @given(st.lists(st.integers(0, 5), max_size=100), st.sampled_from(ORDERS))
    def test_sort_equals_luas(self, values: list[int], less: str) -> None:
        """Equal items have the same order, and a contradictory comparison raises the same error."""
        pairs = [[value, at] for at, value in enumerate(values)]
        source = f"""
            local ok, problem = pcall(table.sort, x, {less})
            local out = {{tostring(ok), ok and '' or problem}}
            for i, pair in ipairs(x) do out[i + 2] = pair[1] .. ':' .. pair[2] end
            return table.concat(out, ' ')
        """
        native = luajit().LuaRuntime()
        expected = native.eval(f"function(x) {source} end")(native.table_from(pairs, recursive=True))
        assert self.call(source, pairs) == expected

    def sorted(self, values: list[Any], source: str) -> Any:
        return self.call(f"{source} return x", values)

    def call(self, source: str, values: list[Any]) -> Any:
        bench = Bench()
        function = bench.host.load("f", source, ["x"])
        return asyncio.run(bench.host.run(function, values)).value

    @cases(
        ("source", "value"),
        [
            ("table.insert(t, 'd') return t", ["a", "b", "c", "d"]),
            ("table.insert(t, 1, 'z') return t", ["z", "a", "b", "c"]),
            ("table.insert(t, 4, 'd') return t", ["a", "b", "c", "d"]),
            ("table.insert(t, 6, 'f') return t[6]", "f"),
            ("return {table.remove(t), table.remove(t, 1), #t}", ["c", "a", 1]),
            ("return table.concat(t)", "abc"),
            ("return table.concat(t, ', ', 2)", "b, c"),
            ("return table.concat(t, ', ', 2, 2)", "b"),
            ("return table.concat({1, 2.5, 'x'}, '-')", "1-2.5-x"),
            ("return table.concat({}, 'x')", ""),
            ("return {unpack(t, 2)}", ["b", "c"]),
            ("return {table.getn(t), table.maxn({[7] = 1})}", [3, 7]),
            ("return ('ab'):rep(3)", "ababab"),
            ("return ('ab'):rep(3, '-')", "ab-ab-ab"),
            ("return ('ab'):rep(0) .. ('ab'):rep(-1)", ""),
            ("return ('%5.1f|%s|%q|%d'):format(2.25, {} and 'x', 'a\"b', 3)", '  2.2|x|"a\\"b"|3'),
            ("return ('%s %s'):format(setmetatable({}, {__tostring = function() return 'o' end}), nil)", "o nil"),
            ("table.trim = function(s) return s end return table.trim('x')", "x"),
            ("string.shout = function(s) return s:upper() .. '!' end return ('a'):shout()", "A!"),
            ("getmetatable('').__index.whisper = string.lower return ('A'):whisper()", "a"),
            ("return bit.band(6, 3)", 2),
            ("return math.max(1, 2)", 2),
        ],
    )  # fmt: skip
    async def test_as_in_lua(self, source: str, value: object) -> None:
        assert await Bench().value(f"local t = {{'a', 'b', 'c'}} {source}") == value

    @cases(
        ("source", "reason"),
        [
            ("table.sort(1)", "bad argument #1 to 'sort' (table expected, got number)"),
            ("table.concat({1, {}})", "invalid value (table) at index 2 in table for 'concat'"),
            ("table.insert({}, -1e9, 1)", "bad argument #2 to 'insert' (position out of bounds)"),
            ("table.insert({}, 1, 2, 3)", "wrong number of arguments to 'insert'"),
            ("table.insert(nil, 1)", "bad argument #1 to 'insert' (table expected, got nil)"),
            ("table.concat(nil)", "bad argument #1 to 'concat' (table expected, got nil)"),
            ("string.rep()", "bad argument #1 to 'rep' (string expected, got nil)"),
            ("string.format('%d', 'x')", "bad argument #2 to 'format' (number expected, got string)"),
        ],
    )
    async def test_wrong_arguments(self, source: str, reason: str) -> None:
        with pytest.raises(LuaError) as caught:
            await Bench().value(f"local x = {source}")
        assert caught.value.message == f"script.lua:1: {reason}"

    async def test_sort_of_values_that_cannot_be_compared(self) -> None:
        with pytest.raises(LuaError, match="attempt to compare"):
            await Bench().value("table.sort({1, 'x'})")

    async def test_a_text_larger_than_the_available_memory(self) -> None:
        source = """
            local t = {}
            for i = 1, 100 do t[i] = ('x'):rep(50000) end
            local joined = table.concat(t)
            return {#joined, #('y'):rep(5000000), #joined:gsub('x', 'yy', 1000)}
        """
        assert await Bench().value(source) == [5_000_000, 5_000_000, 5_001_000]


class TestProtection:
    @cases(
        ("source", "value"),
        [
            ("return {pcall(error, 'x', 0)}", [False, "x"]),
            ("return {pcall(function(...) return ... end, 1, 2)}", [True, 1, 2]),
            ("return {xpcall(error, function(e) return 'h:' .. e end, 'x', 0)}", [False, "h:x"]),
            ("return {xpcall(function(a) return a end, print, 5)}", [True, 5]),
            ("return {xpcall(error, function() error('again', 0) end)}", [False, "again"]),
            ("return {pcall(pcall, error, 'x', 0)}", [True, False, "x"]),
        ],
    )
    async def test_as_in_lua(self, source: str, value: object) -> None:
        assert await Bench().value(source) == value
