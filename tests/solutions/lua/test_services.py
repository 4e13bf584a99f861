"""Service calls: synchronous for the script, awaited by the host."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from labkit.solutions.lua import LuaError
from labkit.solutions.lua.limits import LuaLimits
from tests.cases import cases
from tests.solutions.lua.bench import Bench


async def test_a_call_and_its_arguments() -> None:
    bench = Bench()
    assert await bench.value("return Keystore.set{key = 'k', value = {1, 2}}") == {"value": [1, 2]}
    assert bench.calls == [("Keystore", "set", {"key": "k", "value": [1, 2]}, "context")]


@cases(
    ("source", "call"),
    [
        ("Keystore['get']({key = 1})", ("Keystore", "get", {"key": 1})),
        ("local k = Keystore k.get()", ("Keystore", "get", {})),
        ("Keystore.get(nil)", ("Keystore", "get", {})),
        ("Keystore.get{}", ("Keystore", "get", {})),
        ("_G.Keystore.get{}", ("Keystore", "get", {})),
        ("_G['My_service2'].x{}", ("My_service2", "x", {})),
        ("User.addRole{1, 2}", ("User", "addRole", [1, 2])),
        ("User.list{a = {b = {}}}", ("User", "list", {"a": {"b": {}}})),
        ("User.a({x = 1}, 'ignored')", ("User", "a", {"x": 1})),
    ],
)
async def test_forms_of_a_call(source: str, call: tuple[Any, ...]) -> None:
    bench = Bench()
    await bench.value(source)
    assert bench.calls == [(*call, "context")]


@cases(
    ("arguments", "call"),
    [
        ("'Keystore', 'get', {key = 'é'}", ("Keystore", "get", {"key": "é"})),
        ("'keystore', 'get'", ("Keystore", "get", {})),
        ("'User', 'x', {1, 2}", ("User", "x", [1, 2])),
    ],
)
async def test_a_call_by_names(arguments: str, call: tuple[Any, ...]) -> None:
    bench = Bench()
    await bench.value(f"Keystore = nil return murano.service_call({arguments})")
    assert bench.calls == [(*call, "context")]


@cases("arguments", ["", "'User'", "nil, 'x'", "'', 'x'", "'1a', 'x'", "'User', 1", "{}, 'x'"])
async def test_a_call_by_names_needs_both(arguments: str) -> None:
    bench = Bench()
    expected = r"^script\.lua:2: expected the names of a service and an operation$"
    with pytest.raises(LuaError, match=expected):
        await bench.value(f"\nmurano.service_call({arguments})")
    assert bench.calls == []


@cases("argument", ["'x'", "1", "true", "print", "false"])
async def test_arguments_that_are_no_table_are_errors(argument: str) -> None:
    bench = Bench()
    with pytest.raises(LuaError, match=r"^script\.lua:2: arguments must be a table with names: "):
        await bench.value(f"\nKeystore.get({argument})")
    assert bench.calls == []


@pytest.mark.parametrize(
    ("argument", "reason"),
    [
        ("{f = print}", "cannot encode a function for Keystore.get"),
        ("{[{}] = 1}", "cannot encode a table with a key that is a table for Keystore.get"),
    ],
)
async def test_arguments_that_cannot_be_converted_are_errors(argument: str, reason: str) -> None:
    with pytest.raises(LuaError) as caught:
        await Bench().value(f"Keystore.get({argument})")
    assert caught.value.message == f"script.lua:1: {reason}"


async def test_names_without_a_capital_are_nil() -> None:
    assert (
        await Bench().value("return type(keystore) .. type(_x) .. type(rawget(_G, 'Keystore'))")
        == "nilnilnil"
    )


async def test_a_global_of_that_name_takes_precedence() -> None:
    assert (
        await Bench().value("Keystore = {get = function() return 'mine' end} return Keystore.get{}") == "mine"
    )


async def test_an_error_object_is_a_table() -> None:
    async def refuse(*_: object) -> object:
        return {"type": "QueryError", "error": "Service Foo Not Found", "status": 404}

    source = "local r = Foo.bar{} if r.error then return r.status end"
    assert await Bench(service=refuse).value(source) == 404


@cases("result", [None, True, 3, "text", [], [1], {"a": None}])
async def test_any_result(result: object) -> None:
    async def answer(*_: object) -> object:
        return result

    expected = {} if result == {"a": None} else result
    assert await Bench(service=answer).value("return A.b{}") == expected


async def test_a_result_that_cannot_be_converted_is_an_error_that_a_script_may_catch() -> None:
    async def answer(*_: object) -> object:
        return object()

    bench = Bench(service=answer)
    text = "Foo.bar: cannot hand the value to a script: object has no form in Lua"
    source = "local ok, problem = pcall(function() local r = Foo.bar{} end) return problem"
    assert await bench.value(source) == f"script.lua:1: {text}"
    with pytest.raises(LuaError, match=text):
        await bench.value("Foo.bar{}")


async def test_an_exception_of_a_service_ends_the_run() -> None:
    async def broken(*_: object) -> object:
        raise ZeroDivisionError("a fault of the platform")

    bench = Bench(service=broken)
    with pytest.raises(ZeroDivisionError):
        await bench.value("pcall(function() Foo.bar{} end) reached = true")
    assert await bench.value("return reached") is None


class TestWaiting:
    async def test_many_concurrent_calls(self) -> None:
        gate, all_there = asyncio.Event(), asyncio.Event()

        async def wait(_service: str, _operation: str, parameters: Any, _context: Any) -> Any:
            if len(bench.calls) == 200:
                all_there.set()
            await gate.wait()
            return parameters["n"] * 2

        bench = Bench(service=wait, limits=LuaLimits(runs=200))
        function = bench.host.load("f", "return Foo.a{n = n} + Foo.b{n = 1000 * n}", ["n"])
        runs = [asyncio.create_task(bench.host.run(function, n)) for n in range(200)]
        await all_there.wait()
        gate.set()
        assert [run.value for run in await asyncio.gather(*runs)] == [2 * n + 2000 * n for n in range(200)]

    async def test_immediate_answers_need_no_turn_of_the_loop(self) -> None:
        turns = 0

        def count() -> None:
            nonlocal turns
            turns += 1
            asyncio.get_running_loop().call_soon(count)

        bench = Bench()
        function = bench.host.load("f", "for i = 1, 20 do Foo.bar{} end return 1")
        count()
        await bench.host.run(function)
        assert turns == 1
        assert len(bench.calls) == 20

    async def test_each_run_has_its_context(self) -> None:
        async def slow(_service: str, _operation: str, _parameters: Any, context: Any) -> Any:
            await asyncio.sleep(0)
            return context

        bench = Bench(service=slow)
        function = bench.host.load("f", "local c = Foo.bar{} print(c) return c")
        runs = [bench.host.run(function, context=f"c{n}") for n in range(10)]
        assert [run.value for run in await asyncio.gather(*runs)] == [f"c{n}" for n in range(10)]
        assert sorted(bench.logs) == [("print", f"c{n}", f"c{n}") for n in range(10)]

    async def test_a_cancelled_run_leaves_no_state(self) -> None:
        all_there = asyncio.Event()

        async def forever(*_: object) -> object:
            if len(bench.calls) == 10:
                all_there.set()
            return await asyncio.get_running_loop().create_future()

        bench = Bench(service=forever)
        function = bench.host.load("f", "local big = ('x'):rep(3000000) .. n Foo.bar{} return big", ["n"])
        runs = [asyncio.create_task(bench.host.run(function, n)) for n in range(10)]
        await all_there.wait()
        for run in runs:
            run.cancel()
        await asyncio.gather(*runs, return_exceptions=True)
        assert all(run.cancelled() for run in runs)
        runtime = bench.host._environments.take().runtime
        assert runtime.collect() < 2_500_000  # one more such text

    async def test_a_service_may_run_another_script(self) -> None:
        async def nested(_service: str, _operation: str, parameters: Any, _context: Any) -> Any:
            return (await bench.host.run(inner, parameters["n"])).value

        bench = Bench(service=nested)
        inner = bench.host.load("inner", "if n == 0 then return 0 end return 1 + Foo.run{n = n - 1}", ["n"])
        assert (await bench.host.run(inner, 30)).value == 30


class TestWhereACallMayHappen:
    """A script may call a service wherever it may call a function."""

    @cases(
        "source",
        [
            "local ok, r = pcall(function() return get() end) return r",
            "local ok, r = pcall(pcall, get) return select(2, pcall(get))",
            "local ok, r = xpcall(get, print) return r",
            "local ok, r = xpcall(error, function() return get() end) return r",
            "return setmetatable({}, {__index = function() return get() end}).x",
            "return setmetatable({}, {__call = function() return get() end})()",
            "return setmetatable({}, {__add = function() return get() end}) + 1",
            "for v in function() return get() end do return v end",
            "local r table.sort({2, 1}, function(a, b) r = get() return a < b end) return r",
            "return (('x'):gsub('x', function() return get() end))",
            "return (('x'):rep(3):gsub('%w', setmetatable({}, {__index = get}))):sub(1, 1)",
            "local r table.foreach({1}, function() r = get() end) return r",
            "return loadstring('return get()')()",
            "return load(function() local t = text text = nil get() return t end)()",
            "local o = setmetatable({}, {__tostring = get}) return ('%s'):format(o)",
            "local r = bench.measure(get) return r",
            "local co = coroutine.wrap(function() return get() end) return co()",
            "local co = coroutine.create(get) local ok, r = coroutine.resume(co) return r",
        ],
    )
    async def test_here(self, source: str) -> None:
        async def slow(*_: object) -> object:
            await asyncio.sleep(0)
            return "v"

        bench = Bench(service=slow)
        await bench.value("function get() return Foo.bar{} end text = 'return \"v\"'")
        assert await bench.value(source) == "v"
        assert bench.calls


class TestCoroutinesOfScripts:
    async def test_a_call_passes_through_all_coroutines(self) -> None:
        async def slow(_service: str, _operation: str, parameters: Any, _context: Any) -> Any:
            await asyncio.sleep(0)
            return parameters["n"]

        source = """
            local function nested(n)
              if n == 0 then return Foo.bar{n = 7} end
              return coroutine.wrap(nested)(n - 1)
            end
            return nested(20)
        """
        assert await Bench(service=slow).value(source) == 7

    async def test_a_coroutines_own_yields_are_unaffected(self) -> None:
        async def slow(_service: str, _operation: str, parameters: Any, _context: Any) -> Any:
            await asyncio.sleep(0)
            return parameters["n"]

        source = """
            local seen = {}
            local function see(...) seen[#seen + 1] = table.concat({...}, ",") end
            local co = coroutine.create(function(a)
              see(a, Foo.bar{n = 1})
              see(coroutine.yield("one", 2), Foo.bar{n = 2})
              return "end"
            end)
            see(select(2, coroutine.resume(co, "a")))
            see(coroutine.status(co))
            see(select(2, coroutine.resume(co, "b")))
            see(coroutine.status(co))
            see(select(2, coroutine.resume(co)))
            return seen
        """
        expected = ["a,1", "one,2", "suspended", "b,2", "end", "dead", "cannot resume dead coroutine"]
        assert await Bench(service=slow).value(source) == expected

    async def test_a_coroutine_of_a_cancelled_run_cannot_be_resumed(self) -> None:
        bench = Bench(service=lambda *_: asyncio.get_running_loop().create_future())
        source = "co = coroutine.create(function() return Foo.bar{} end) return {coroutine.resume(co)}"
        run = asyncio.create_task(bench.value(source))
        await asyncio.sleep(0)
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)
        assert await bench.value("return coroutine.status(co)") == "normal"
        text = "cannot resume a coroutine that waits for a service"
        assert await bench.value("return {coroutine.resume(co)}") == [False, text]

    @cases(
        ("source", "value"),
        [
            ("return tostring(coroutine.running())", "nil"),
            ("return coroutine.isyieldable()", False),
            ("return coroutine.wrap(function() return coroutine.isyieldable() end)()", True),
            ("return coroutine.wrap(function() return type(coroutine.running()) end)()", "thread"),
            ("return {pcall(coroutine.yield, 1)}", [False, "attempt to yield from outside a coroutine"]),
            ("return {pcall(coroutine.wrap(function() error('x', 0) end))}", [False, "x"]),
            ("return {pcall(coroutine.wrap(function() error({a = 1}) end))}", [False, {"a": 1}]),
            (
                "local w = coroutine.wrap(function() end) w() return {pcall(w)}",
                [False, "cannot resume dead coroutine"],
            ),
            (
                (
                    "local n, f = 0, function() for i = 1, 4 do coroutine.yield(i) end end"
                    " for v in coroutine.wrap(f) do n = n + v end return n"
                ),
                10,
            ),
            (
                (
                    "local co co = coroutine.create(function() return coroutine.resume(co) end)"
                    " return {select(2, coroutine.resume(co))}"
                ),
                [False, "cannot resume running coroutine"],
            ),
        ],
    )
    async def test_as_in_lua(self, source: str, value: object) -> None:
        assert await Bench().value(source) == value

    async def test_too_many_nested_coroutines(self) -> None:
        """Each takes C stack, which is limited to the thread's."""
        source = """
            local function nest(n) return 1 + coroutine.wrap(nest_)() end
            nest_ = nest
            return {pcall(nest)}
        """
        assert await Bench().value(source) == [False, "too many coroutines inside one another"]
