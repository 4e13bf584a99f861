"""Conversion of values between Python and Lua, and JSON in scripts."""

from __future__ import annotations

import asyncio
import json
import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from enum import IntEnum, StrEnum
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.solutions.lua import LuaError, LuaLimits
from tests.cases import cases
from tests.sizes import size
from tests.solutions.lua.bench import Bench

numbers = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False)
plain = st.text(st.characters(codec="utf-8"))
texts = plain | st.binary().map(lambda data: data.decode("utf-8", "surrogateescape"))
scalars = st.booleans() | numbers | texts


def nested(leaves: st.SearchStrategy[Any], names: st.SearchStrategy[str] = texts) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=6) | st.dictionaries(names, inner, max_size=6)
    )


def nulls(depth: int) -> dict[str, Any]:
    """Return objects in each other, each of which also has a key without a value."""
    return reduce(lambda inner, _: {"a": inner, "b": None}, range(depth), {})


def same(value: Any) -> Any:
    """Return a value as Lua returns it: whole numbers as int, no keys without a value, no unneeded surrogates."""
    if isinstance(value, float) and abs(value) <= 2**53 and value == math.floor(value):
        return int(value)
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    if isinstance(value, dict):
        return {same(key): same(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [same(item) for item in value]
    return value


class Colour(IntEnum):
    RED = 1


class Kind(StrEnum):
    TEXT = "text"


Values = Callable[..., Any]


@pytest.fixture(scope="module")
def value_of() -> Iterator[Values]:
    """Return the value of a script, on one host for all examples of a test, since creating a host takes longer."""
    bench = Bench()
    with asyncio.Runner() as runner:
        yield lambda source, **arguments: runner.run(bench.value(source, **arguments))


class TestRoundTrip:
    @given(nested(scalars))
    def test_without_none(self, value_of: Values, value: Any) -> None:
        assert value_of("return x", x=value) == same(value)

    @given(nested(scalars | st.none()))
    def test_with_none(self, value_of: Values, value: Any) -> None:
        assert value_of("return x", x=value) == same(value)

    @given(nested(scalars | st.none()))
    def test_through_a_service(self, value_of: Values, value: Any) -> None:
        expected = {} if value is None else {"value": same(value)}
        assert value_of("return Foo.bar{value = x}", x=value) == expected

    @cases("length", [0, 1, 190, 191, 192, 223, 224, 8127, 8128, 8160, 8200, 65536, 300_000])
    async def test_sizes_at_which_the_form_changes(self, length: int) -> None:
        bench = Bench()
        for value in ("x" * length, list(range(length % 70_000)), {f"k{n}": n for n in range(length % 9000)}):
            function = bench.host.load("f", "return x", ["x"])
            assert (await bench.host.run(function, value)).value == value


class TestFromPython:
    @cases(
        ("value", "source", "expected"),
        [
            (None, "return type(x)", "nil"),
            ({"a": None}, "return next(x) == nil", True),
            # converted once: if a missing key began its table anew, this would take 2^60 steps
            (nulls(60), "return x.a.a.b == nil", True),
            ([1, None, 3], "return {x[1], type(x[2]), x[3]}", [1, "nil", 3]),
            ([None, None, 3], "return x[3]", 3),
            (True, "return x == true", True),
            (2**53, "return x == 2^53", True),
            (-(2**53), "return x == -2^53", True),
            (2**53 + 1, "return x", "9007199254740993"),
            (-(2**64), "return x .. ''", "-18446744073709551616"),
            (1_700_000_000_123_456, "return ('%d'):format(x)", "1700000000123456"),
            (2**31 - 1, "return x", 2**31 - 1),
            (2**31, "return x", 2**31),
            (-(2**31), "return x", -(2**31)),
            (1.5, "return x", 1.5),
            (-0.0, "return 1 / x == -math.huge", True),
            (math.inf, "return x == math.huge", True),
            (math.nan, "return x ~= x", True),
            ("grüße €😀", "return {#x, x}", [15, "grüße €😀"]),
            (b"\xff\x00a", "return {#x, x:byte(1, -1)}", [3, 255, 0, 97]),
            (bytearray(b"ab"), "return x", "ab"),
            ("\udcff\udc80", "return {x:byte(1, -1)}", [255, 128]),
            ("a\ud83d", "return x", "a?"),
            ((1, (2,)), "return {#x, x[2][1]}", [2, 2]),
            ({1: "a", 2.5: "b"}, "return {x['2.5'], x['1']}", ["b", "a"]),
            ({True: "c"}, "return x['true']", "c"),
            (OrderedDict(a=1), "return x.a", 1),
            (Colour.RED, "return x", 1),
            (Kind.TEXT, "return x", "text"),
        ],
    )
    async def test_values(self, value: object, source: str, expected: object) -> None:
        assert await Bench().value(source, x=value) == expected

    async def test_lists_have_a_mark_and_objects_have_none(self) -> None:
        source = "return {getmetatable(x).__type, getmetatable(x[1]).__type, tostring(getmetatable(y)), tostring(x[1])}"
        assert await Bench().value(source, x=[[]], y={}) == ["slice", "slice", "nil", "[]"]

    async def test_lists_stay_lists_when_emptied_and_objects_stay_objects(self) -> None:
        source = "table.remove(x) y.a = nil return {x = x, y = y, z = {}}"
        assert await Bench().value(source, x=[1], y={"a": 1}) == {"x": [], "y": {}, "z": {}}

    async def test_none_at_the_end_of_a_list_is_kept(self) -> None:
        source = "x[#x + 1] = 'more' return {x, y, tostring(y)}"
        assert await Bench().value(source, x=[1, None, 2], y=[1, None, None]) == [
            [1, None, 2, "more"],
            [1, None, None],
            "[1,null,null]",
        ]

    @cases(
        ("value", "reason"),
        [
            (object(), "object has no form in Lua"),
            ({"a": [{1, 2}]}, "set has no form in Lua"),
            ({(1, 2): 3}, "a key is a tuple"),
            (lambda: None, "function has no form in Lua"),
        ],
    )
    async def test_values_that_cannot_be_converted_are_errors(self, value: object, reason: str) -> None:
        with pytest.raises(LuaError, match=f"^cannot hand the value to a script: {reason}$"):
            await Bench().value("return 1", x=value)

    @pytest.mark.parametrize("kind", [list, dict])
    async def test_too_deep_a_value_is_an_error(self, kind: type) -> None:
        def deep(levels: int) -> Any:
            value: Any = kind()
            for _ in range(levels - 1):
                value = [value] if kind is list else {"a": value}
            return value

        bench = Bench()
        assert await bench.value("return x", x=deep(100)) == deep(100)
        with pytest.raises(LuaError, match="nested too deeply"):
            await bench.value("return x", x=deep(101))
        assert await bench.value("return x", x=[None, deep(99)]) == [None, deep(99)]

    @cases("first", [[], [None], ["\udcff"]])
    async def test_a_value_that_contains_itself_is_an_error(self, first: list[Any]) -> None:
        value = [*first]
        value.append(value)
        with pytest.raises(LuaError, match=r"^cannot hand the value to a script: "):
            await Bench().value("return 1", x=value)

    @pytest.mark.parametrize("levels", [101, 100_000])
    async def test_depth_of_values_sent_as_json(self, levels: int) -> None:
        value: list[Any] = []
        for _ in range(levels):
            value = [None, value]
        with pytest.raises(LuaError, match="nested too deeply"):
            await Bench().value("return 1", x=value)

    async def test_too_large(self) -> None:
        bench = Bench(limits=LuaLimits(value_bytes=1000))
        assert await bench.value("return #x", x="x" * 990) == 990
        for value in ("x" * 1001, [None, "x" * 1001]):
            with pytest.raises(LuaError, match="more than 1000 bytes"):
                await bench.value("return 1", x=value)

    async def test_many_small_tables_need_far_more_memory_than_their_text(self) -> None:
        value: Any = [{} for _ in range(100_000)]
        assert await Bench().value("return #x", x=value) == 100_000


class TestFromLua:
    @cases(
        ("source", "expected"),
        [
            ("return 3.0", 3),
            ("return -0.0", 0),
            ("return 0.1", 0.1),
            ("return 1e300", 1e300),
            ("return 2^53", 2**53),
            ("return 1 / 3", 1 / 3),
            ("return 1 / 0", math.inf),
            ("return -1 / 0", -math.inf),
            ("return {}", {}),
            ("return {1, 2, {}}", [1, 2, {}]),
            ("return {1, 2, a = 3}", {"1": 1, "2": 2, "a": 3}),
            ("return {[1] = 1, [3] = 3}", {"1": 1, "3": 3}),
            ("return {[0] = 1}", {"0": 1}),
            ("return {[1.5] = 1, [-1] = 2}", {"1.5": 1, "-1": 2}),
            ("return {[1e15] = 1}", {"1000000000000000": 1}),
            ("return setmetatable({}, {__type = 'slice'})", []),
            ("return setmetatable({1, 2}, {__type = 'slice'})", [1, 2]),
            ("return setmetatable({a = 1}, {__type = 'slice'})", []),
            ("return setmetatable({1}, {__type = 'slice', __length = 3})", [1, None, None]),
            ("return setmetatable({1}, {__type = 'slice', __length = 'x'})", [1]),
            ("return setmetatable({}, {__type = 'map'})", {}),
            ("return setmetatable({a = 1}, {__metatable = 'locked'})", {"a": 1}),
            ("return 'a\\0b\\r\\n\\t\"\\\\\\127'", 'a\0b\r\n\t"\\\x7f'),
            ("return '\\255\\254'", "\udcff\udcfe"),
            ("return {['\\255'] = '\\128'}", {"\udcff": "\udc80"}),
            ("local t = {1} return {t, t}", [[1], [1]]),
        ],
    )
    async def test_values(self, source: str, expected: object) -> None:
        value = await Bench().value(source)
        assert value == expected
        assert type(value) is type(expected)

    async def test_keys_are_in_order(self) -> None:
        names = [f"k{n}" for n in range(200)]
        source = "local t = {} for i = 199, 0, -1 do t['k' .. i] = i end return t"
        assert list(await Bench(random_seed=None).value(source)) == sorted(names)

    @cases(
        ("source", "reason"),
        [
            ("return print", "cannot encode a function"),
            ("return {a = {print}}", "cannot encode a function"),
            ("return coroutine.create(print)", "cannot encode a thread"),
            ("return {[true] = 1}", "cannot encode a table with a key that is a boolean"),
            ("return 1LL", "cannot encode a cdata"),
            ("local t = {} t.t = t return t", "cannot encode a table nested too deeply, or in itself"),
            (
                "local t = {} for i = 1, 100 do t = {t} end return t",
                "cannot encode a table nested too deeply, or in itself",
            ),
        ],
    )
    async def test_values_that_cannot_be_converted_are_errors(self, source: str, reason: str) -> None:
        with pytest.raises(LuaError) as caught:
            await Bench().value(source)
        assert caught.value.message == reason

    async def test_the_maximal_depth_is_accepted(self) -> None:
        value = await Bench().value("local t = {} for i = 1, 99 do t = {t} end return t")
        for _ in range(99):
            value = value[0]
        assert value == {}

    async def test_too_large(self) -> None:
        bench = Bench(limits=LuaLimits(value_bytes=1000))
        with pytest.raises(LuaError, match="cannot encode so large a value"):
            await bench.value("return {('x'):rep(1000)}")

    async def test_metatables_are_ignored(self) -> None:
        source = """
            local function trap() error("asked") end
            local trapped = {__index = trap, __pairs = trap, __len = trap, __tostring = trap, __call = trap}
            return setmetatable({1, 2, setmetatable({a = 1}, trapped)}, trapped)
        """
        assert await Bench().value(source) == [1, 2, {"a": 1}]


class TestJson:
    @given(nested(st.booleans() | numbers.filter(math.isfinite) | plain, plain))
    def test_json_of_python_can_be_read(self, value_of: Values, value: Any) -> None:
        for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
            assert value_of("return {from_json(x)}", x=text) == [same(value)]

    @given(nested(st.booleans() | numbers.filter(math.isfinite) | plain, plain))
    def test_json_of_scripts_can_be_read_by_python(self, value_of: Values, value: Any) -> None:
        written = value_of("return to_json(x)", x=value)
        assert same(json.loads(written)) == same(value)

    @cases(
        ("source", "text"),
        [
            ("{}", "{}"),
            ("nil", "null"),
            ("{1, 'a', true}", '[1,"a",true]'),
            ("{b = 1, a = {c = 2}}", '{"a":{"c":2},"b":1}'),
            ("from_json('[]')", "[]"),
            ("from_json('[[],{}]')", "[[],{}]"),
            ("from_json('[1,null]')", "[1,null]"),
            ("from_json('{\"a\":null}')", "{}"),
            ("1e15", "1000000000000000"),
            ("1e20", "1e+20"),
            ("0.1 + 0.2", "0.30000000000000004"),
            ("'\\1\\31 ü / \"'", '"\\u0001\\u001f ü / \\""'),
            ("setmetatable({}, {__type = 'slice'})", "[]"),
        ],
    )
    async def test_writing(self, source: str, text: str) -> None:
        bench = Bench()
        assert await bench.value(f"return {{to_json({source})}}") == [text]
        assert await bench.value(f"return json.stringify({source})") == text

    @cases(
        ("source", "reason"),
        [
            ("print", "cannot encode a function"),
            ("{1 / 0}", "cannot encode a number that is not finite"),
            ("0 / 0", "cannot encode a number that is not finite"),
        ],
    )
    async def test_a_value_that_json_cannot_represent_is_an_error(self, source: str, reason: str) -> None:
        script = f"local text, problem = to_json({source}) return {{tostring(text), problem}}"
        assert await Bench().value(script) == ["nil", reason]

    @cases(
        ("text", "value"),
        [
            (" [ 1 , 2.5e1 , -0 ] ", [1, 25, 0]),
            (
                '"\\ud83d\\ude00 \\u00e9 \\u20ac \\u0041 \\/ \\b\\f\\n\\r\\t \\" \\\\"',
                '😀 é € A / \b\f\n\r\t " \\',
            ),
            ("true", True),
            ("12345678901234567890", 12345678901234567890.0),
            ('{"a":{"b":[{}]},"":1}', {"a": {"b": [{}]}, "": 1}),
            ("1E-2", 0.01),
        ],
    )
    async def test_reading(self, text: str, value: object) -> None:
        bench = Bench()
        assert await bench.value("local v, problem = from_json(x) return {v, problem}", x=text) == [value]
        assert await bench.value("return json.parse(x)", x=text) == value

    @cases(
        "text",
        [*"- 1. .5 1e +1 01 --1 NaN Infinity -Infinity nul tru 'a' [ { ] [1,] {a:1} {\"a\"} {\"a\":1,} [1]x".split(),
         "", " ", "1 1", "[1 2]", '{"a" 1}', '"', '"\n"', '"\\x"', '"\\u12g4"', "\x00"],
    )  # fmt: skip
    async def test_invalid_json_is_an_error(self, text: str) -> None:
        with pytest.raises(json.JSONDecodeError):  # the test's own check: Python's parser refuses it, too
            json.loads(text, parse_constant=lambda name: json.loads(""))
        value = await Bench().value("local v, problem = from_json(x) return {tostring(v), problem}", x=text)
        assert value[0] == "nil"
        assert value[1].startswith("invalid JSON: ")

    @cases("argument", ["nil", "1", "{}", "print"])
    async def test_reading_other_values_than_texts_is_an_error(self, argument: str) -> None:
        source = f"local v, problem = from_json({argument}) return {{tostring(v), problem:sub(1, 26)}}"
        assert await Bench().value(source) == [
            "nil",
            "invalid JSON: a " + f"{await self.kind(argument)} instead of text"[:10],
        ]

    async def kind(self, argument: str) -> str:
        return str(await Bench().value(f"return type({argument})"))

    async def test_nesting_is_limited(self) -> None:
        source = "local v, problem = from_json(('['):rep(n) .. (']'):rep(n)) return problem"
        assert await Bench().value(source, n=100) is None
        assert await Bench().value(source, n=101) == "invalid JSON: nested too deeply"

    async def test_a_large_text(self) -> None:
        text = json.dumps([{"name": f"n{n}", "value": n} for n in range(size(3000, 20_000))])
        bench = Bench(limits=LuaLimits(cpu_seconds=5))
        assert json.loads(await bench.value("return to_json(from_json(x))", x=text)) == json.loads(text)
